// Packets between nodes come late: after a delay and a jitter, in order unless reordering is asked
// for, some of them twice. Nothing is lost: what is only slow looks like what is gone.
#include "nemesis/delay.h"

#include <charconv>
#include <set>

#include "checkers/history/vocabulary.h"
#include "nemesis/partition.h"
#include "nemesis/registry.h"
#include "nemesis/schedule.h"
#include "nemesis/victims.h"

namespace assay {
namespace {

class DelayRun : public NemesisRun {
 public:
  DelayRun(Cluster& cluster, const NemesisOptions& options, LinkDelay how)
      : cluster_(cluster),
        options_(options),
        groups_(options.rng.stream("groups")),
        seeds_(options.rng.stream("packets")),
        how_(how) {}

  Gen schedule() override { return fault_schedule("delay", options_.shapes, options_); }

  void invoke(const Op& op, std::function<void(Op)> done) override {
    if (op.f == stop_of("delay")) {
      cluster_.heal_delays([op, done = std::move(done)](const Result<Effect>& seen) {
        done(fault_stopped(op, seen));
      });
      return;
    }
    const std::string shape(op.value.text_or("shape", "one"));
    const int leader = cluster_.leader();
    const auto links =
        partition_cuts(shape, static_cast<int>(cluster_.nodes().size()), leader, groups_);
    std::vector<SlowLink> slow;
    std::set<int> late;
    for (const Cut& link : links) {
      slow.push_back({link.from, link.to, how_});
      slow.back().how.seed = seeds_.next();
      late.insert(link.to);
    }
    cluster_.delay(slow, [this, op, shape, leader, links, late,
                          done = std::move(done)](const Result<Effect>& seen) {
      done(fault_started(op, cluster_, {late.begin(), late.end()}, links,
                         aimed(shape, leader >= 0, seen), "delayed"));
    });
  }

 private:
  Cluster& cluster_;
  NemesisOptions options_;
  Rng groups_, seeds_;
  LinkDelay how_;
};

class Delay : public Nemesis {
 public:
  std::string_view kind() const override { return "delay"; }
  std::string_view summary() const override {
    return "packets between nodes come late, then in time again";
  }
  std::vector<std::string_view> shapes() const override { return partition_nemesis().shapes(); }
  std::vector<NemesisOption> options() const override { return delay_options(); }
  Result<void> accepts(const std::map<std::string, std::string>& settings) const override {
    const auto how = read_delay(settings);
    return how ? Result<void>() : how.error();
  }
  bool available(const Powers& powers) const override { return powers.delay; }
  std::string_view needs() const override { return "iptables, NFQUEUE (root, or user namespaces)"; }
  std::unique_ptr<NemesisRun> start(Cluster& cluster,
                                    const NemesisOptions& options) const override {
    NemesisOptions used = options;
    const auto all = shapes();
    if (used.shapes.empty()) used.shapes = {all.begin(), all.end()};
    return std::make_unique<DelayRun>(cluster, used, *read_delay(options.settings));
  }
};

}  // namespace

std::vector<NemesisOption> delay_options() {
  return {{"by", "100ms", "every packet is held so long"},
          {"jitter", "100ms", "and up to so much longer, drawn per packet"},
          {"reorder", "false", "packets may overtake each other"},
          {"duplicate", "0", "of 100 packets so many come twice"}};
}

Result<LinkDelay> read_delay(const std::map<std::string, std::string>& settings) {
  std::map<std::string, std::string> used = settings;
  for (const NemesisOption& option : delay_options()) used.emplace(option.name, option.fallback);
  const auto wrong = [&](const char* name, const std::string& expected) {
    return input_error("delay." + std::string(name) + ": expected " + expected + ", found \"" +
                       used[name] + "\"");
  };
  LinkDelay how;
  for (const auto& [name, span] : {std::pair("by", &how.delay), std::pair("jitter", &how.jitter)}) {
    const auto given = parse_duration(used[name]);
    if (!given || *given < Nanos{} || *given > kDelayMax)
      return wrong(name, "a duration such as 300ms, at most " + format_duration(kDelayMax));
    *span = *given;
  }
  if (used["reorder"] != "true" && used["reorder"] != "false")
    return wrong("reorder", "true or false");
  how.reorder = used["reorder"] == "true";
  const std::string& percent = used["duplicate"];
  const auto [end, error] =
      std::from_chars(percent.data(), percent.data() + percent.size(), how.duplicate_percent);
  if (error != std::errc() || end != percent.data() + percent.size() || how.duplicate_percent < 0 ||
      how.duplicate_percent > 100)
    return wrong("duplicate", "a whole number from 0 to 100");
  return how;
}

const Nemesis& delay_nemesis() {
  static const Delay nemesis;
  return nemesis;
}

}  // namespace assay
