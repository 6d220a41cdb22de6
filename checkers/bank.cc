// bank: is the sum of all accounts the same whenever somebody looks? The header gives it (`total`),
// and which lists show all accounts (`accounts`: their prefix; else every list shows those of one bank,
// of which there may be several). A balance is a
// number, or an object's member "balance". An ok read of an object of numbers is a look at all as well,
// where the header names no prefix.
//
// A look that began before all accounts had been set up, which may be never, is left out. Looks at
// copies that may be old are judged too: an old state has the same sum.
#include <algorithm>
#include <optional>
#include <string_view>
#include <unordered_map>

#include "checkers/findings.h"
#include "checkers/history/vocabulary.h"
#include "checkers/registry.h"
#include "checkers/words.h"

namespace assay::bank {
namespace {

std::optional<int64_t> balance_of(const Value& value) {
  if (value.is_int()) return value.as_int();
  if (value.is_object() && value["balance"].is_int()) return value["balance"].as_int();
  return std::nullopt;
}

struct Accounts {
  explicit Accounts(const HistoryHeader& header)
      : total(header.raw["total"].is_int() ? std::optional(header.raw["total"].as_int())
                                           : std::nullopt),
        prefix(header.raw.text_or("accounts", "")) {}
  bool has(Symbol key) const { return prefix.empty() || key.text().starts_with(prefix); }
  bool shown_by(const Operation& op) const {
    if (op.type() != OpType::kOk) return false;
    if (op.f() == f::list)
      return prefix.empty() || std::string_view(prefix).starts_with(op.key().text());
    return op.f() == f::read && prefix.empty() && op.result().is_object();
  }
  // What it saw in all; nothing where something in it is no balance.
  std::optional<int64_t> sum(const Operation& look) const {
    int64_t sum = 0;
    const Value result = look.result();
    if (result.is_object()) {
      for (const auto& [name, value] : result.as_object()) {
        const auto balance = balance_of(value);
        if (!balance) return std::nullopt;
        sum += *balance;
      }
      return sum;
    }
    if (!result.is_array()) return std::nullopt;
    for (const Value& entry : result.as_array()) {
      if (!entry.is_array() || entry.as_array().size() != 3 || !entry.as_array()[0].is_string())
        return std::nullopt;
      if (!has(entry.as_array()[0].as_symbol())) continue;
      const auto balance = balance_of(entry.as_array()[1]);
      if (!balance) return std::nullopt;
      sum += *balance;
    }
    return sum;
  }

  std::optional<int64_t> total;
  std::string prefix;
};

// When the last account under a prefix had been set up: by the answer to the first write of each that
// was acknowledged, or the first that saw it.
class SetUp {
 public:
  struct Point {
    Position position = 0;
    int64_t revision = 0;  // of the store; 0: not known
  };
  explicit SetUp(const History& history) {
    std::unordered_map<Symbol, Point> first;
    for (size_t id = 0; id < history.size(); ++id) {
      const Operation op = history[id];
      each_key_of(op, [&](Symbol key, bool there, Token revision) {
        Point& point = first.try_emplace(key, Point{.position = kOpen}).first->second;
        if (there && op.return_position() < point.position)
          point = {op.return_position(), revision.is_number() ? revision.number() : 0};
      });
    }
    for (const auto& [key, point] : first) keys_.emplace_back(key.text(), point);
    std::sort(keys_.begin(), keys_.end(),
              [](const auto& a, const auto& b) { return a.first < b.first; });
  }
  Point at(Symbol prefix) {
    const auto [known, fresh] = known_.try_emplace(prefix);
    if (!fresh) return known->second;
    const std::string_view text = prefix.text();
    auto key = std::lower_bound(keys_.begin(), keys_.end(), text,
                                [](const auto& a, std::string_view b) { return a.first < b; });
    if (key == keys_.end() || !key->first.starts_with(text)) known->second.position = kOpen;
    for (; key != keys_.end() && key->first.starts_with(text); ++key) {
      known->second.position = std::max(known->second.position, key->second.position);
      known->second.revision = std::max(known->second.revision, key->second.revision);
    }
    return known->second;
  }

 private:
  // Calls fn(key, whether it was there then, at which revision).
  template <typename Fn>
  static void each_key_of(const Operation& op, const Fn& fn) {
    const bool ok = op.type() == OpType::kOk;
    if (op.f() == f::txn) {
      for (const auto& [key, value] : writes_of_txn(op.argument())) fn(key, ok, op.revision());
    } else if (op.f() != f::list) {
      if (has_key_events(op.f()))
        fn(op.key(), ok && (op.f() != f::read || !op.result().is_null()), op.revision());
    } else if (ok) {
      const Value result = op.result();
      for (const Value& row : result.as_array())
        fn(row.as_array()[0].as_symbol(), true, token_of(row.as_array()[2]));
    }
  }

  std::vector<std::pair<std::string_view, Point>> keys_;
  std::unordered_map<Symbol, Point> known_;
};

class Bank : public Checker {
 public:
  std::string_view name() const override { return "bank"; }
  std::string_view summary() const override {
    return "the sum of all accounts is the same whenever somebody looks";
  }
  bool applies(const History& history) const override {
    return history.header().raw["total"].is_int();
  }
  Result<void> accepts(const History& history) const override { return key_events_fit(history); }
  Verdict check(const History& history, const Budget& budget) const override {
    Verdict verdict{.name = "bank"};
    const Accounts accounts(history.header());
    SetUp set_up(history);
    int64_t looks = 0, early = 0, wrong = 0;
    for (size_t id = 0; id < history.size() && accounts.total; ++id) {
      if (id % 1024 == 0 && budget.exhausted()) {
        verdict.safety = std::max(verdict.safety, Safety::kUnknown);
        verdict.reason = "not decided within its budget";
        break;
      }
      const Operation op = history[id];
      if (!accounts.shown_by(op)) continue;
      const auto sum = accounts.sum(op);
      if (!sum) continue;
      const Symbol all = accounts.prefix.empty() ? op.key() : Symbol(accounts.prefix);
      const SetUp::Point ready = set_up.at(all);
      // A copy may show an older state than that, and says so.
      const bool older = op.at().is_number() && op.at().number() < ready.revision;
      if (op.invoke_position() < ready.position || older) {
        ++early;
        continue;
      }
      ++looks;
      if (*sum != *accounts.total && ++wrong == 1) tell(history, op, *sum, accounts, verdict);
    }
    verdict.counts = {{"looks at all accounts", looks}, {"before all were set up", early},
                      {"wrong sums", wrong}};
    if (looks == 0)
      nothing_judged("nobody looked at all accounts at once", "lists of all accounts",
                     "longer: `--time-limit 60s`", verdict);
    if (verdict.reason.empty())
      verdict.reason = "the sum was " + std::to_string(*accounts.total) + " in all of " +
                       counted(static_cast<size_t>(looks), "look", "looks");
    return verdict;
  }

 private:
  static void tell(const History& history, const Operation& op, int64_t sum, const Accounts& accounts,
                   Verdict& verdict) {
    verdict.safety = Safety::kInvalid;
    verdict.reason = "the accounts sum to " + std::to_string(sum) + " instead of " +
                     std::to_string(*accounts.total);
    Witness witness{.operations = {}, .lines = {}};
    witness.lines.push_back(who(op) + " found the accounts to sum to " + std::to_string(sum) +
                            " instead of " + std::to_string(*accounts.total) + " (" + when(op) + ")");
    // The last look before that had the right sum: what went wrong came between the two.
    for (size_t id = op.id(); id-- > 0;) {
      const Operation before = history[id];
      if (before.key() != op.key() || !accounts.shown_by(before) ||
          before.return_position() > op.invoke_position())
        continue;
      const auto was = accounts.sum(before);
      if (!was || *was != *accounts.total) continue;
      witness.operations.push_back(id);
      witness.lines.push_back(who(before) + " had found " + std::to_string(*was) + " (" + when(before) +
                              ")");
      break;
    }
    witness.operations.push_back(op.id());
    verdict.witness = std::move(witness);
    verdict.facts.emplace_back(fact::kRestsOn,
                               "independent of your error mapping: it rests on what one answer shows");
  }
};

}  // namespace
}  // namespace assay::bank

namespace assay {

const Checker& bank_checker() {
  static const bank::Bank checker;
  return checker;
}

}  // namespace assay
