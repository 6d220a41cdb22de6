// object-count: are there ever more objects than anybody asked for? For the workload `controller`: the
// key PREFIX/wanted holds how many objects there should be, which only rises, and each object is a key
// under PREFIX/object/. A controller that counts what was true before, or acts on a wish that was never
// agreed, creates too many (H4: future decisions use shared history).
//
// Judged per list of a prefix: it holds at most as many objects as the highest number that anybody had
// asked for, whatever became of the asking, before the list was answered. A list is one read, so what
// it holds was there at one moment. Linear but for the lists' own lengths.
#include <algorithm>
#include <map>
#include <string>

#include "checkers/findings.h"
#include "checkers/history/vocabulary.h"
#include "checkers/registry.h"
#include "checkers/words.h"

namespace assay {
namespace {

constexpr std::string_view kWantedKey = "wanted";
constexpr std::string_view kCountedObject = "object/";

struct CountWish {
  Position asked;
  int64_t number;  // the highest so far
};

class ObjectCounting {
 public:
  explicit ObjectCounting(const History& history) : history_(history) {
    for (size_t id = 0; id < history.size(); ++id) {
      const Operation op = history[id];
      if (op.f() != f::write || !op.key().text().ends_with(kWantedKey) || !op.argument().is_int()) continue;
      if (op.type() == OpType::kFail) continue;
      const std::string_view key = op.key().text();
      auto& wishes = wishes_[std::string(key.substr(0, key.size() - kWantedKey.size()))];
      const int64_t before = wishes.empty() ? 0 : wishes.back().number;
      wishes.push_back({op.invoke_position(), std::max(before, op.argument().as_int())});
    }
  }

  Verdict run(const Budget& budget) {
    Findings findings(history_, verdict_);
    for (size_t id = 0; id < history_.size(); ++id) {
      if (budget.exhausted()) {
        verdict_.safety = Safety::kUnknown;
        verdict_.reason = "not decided within its budget";
        return verdict_;
      }
      const Operation list = history_[id];
      if (list.f() != f::list || list.type() != OpType::kOk || !list.result().is_array()) continue;
      judge(list, findings);
    }
    findings.conclude();
    verdict_.counts = {{"lists", lists_}, {"most objects", most_}, {"most wanted", most_wanted_}};
    if (verdict_.safety != Safety::kValid) return verdict_;
    if (most_ == 0) {
      nothing_judged("no list holds an object", "objects that were created",
                     "a longer run: `--time-limit 60s`", verdict_);
      return verdict_;
    }
    verdict_.reason = "no list holds more objects than were wanted";
    return verdict_;
  }

 private:
  void judge(const Operation& list, Findings& findings) {
    const std::string prefix(list.key().text());
    int64_t objects = 0;
    for (const Value& row : list.result().as_array())
      objects += row.as_array()[0].as_text().starts_with(prefix + std::string(kCountedObject));
    ++lists_;
    most_ = std::max(most_, objects);
    const auto& wishes = wishes_[prefix];
    const auto later = std::lower_bound(
        wishes.begin(), wishes.end(), list.return_position(),
        [](const CountWish& wish, Position answered) { return wish.asked < answered; });
    const int64_t wanted = later == wishes.begin() ? 0 : std::prev(later)->number;
    most_wanted_ = std::max(most_wanted_, wanted);
    if (objects <= wanted || convicted_[prefix]) return;
    convicted_[prefix] = true;
    findings.add(list.key(), {"too many objects",
                              who(list) + " found " + std::to_string(objects) + " objects where at most " +
                                  std::to_string(wanted) + " had been asked for (" + when(list) + ")",
                              {event_of(list)},
                              {}});
  }
  static KeyEvent event_of(const Operation& list) {
    KeyEvent event;
    event.id = static_cast<uint32_t>(list.id());
    event.call = list.invoke_position();
    event.ret = list.return_position();
    event.type = list.type();
    event.at = list.at();
    event.value = list.result();
    return event;
  }

  const History& history_;
  std::map<std::string, std::vector<CountWish>> wishes_;
  std::map<std::string, bool> convicted_;
  Verdict verdict_{.name = "object-count"};
  int64_t lists_ = 0, most_ = 0, most_wanted_ = 0;
};

class ObjectCount : public Checker {
 public:
  std::string_view name() const override { return "object-count"; }
  std::string_view summary() const override {
    return "there are never more objects than were asked for (workload controller)";
  }
  bool applies(const History& history) const override {
    return history.header().workload == "controller";
  }
  Result<void> accepts(const History& history) const override { return key_events_fit(history); }
  Verdict check(const History& history, const Budget& budget) const override {
    return ObjectCounting(history).run(budget);
  }
};

}  // namespace

const Checker& object_count_checker() {
  static const ObjectCount checker;
  return checker;
}

}  // namespace assay
