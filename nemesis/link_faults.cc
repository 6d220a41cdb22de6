// Links between nodes that lose packets, carry only so many, or break what is connected over them
// (targets/link_fault.h), in the shapes of a partition.
#include <charconv>
#include <set>

#include "checkers/history/vocabulary.h"
#include "nemesis/partition.h"
#include "nemesis/registry.h"
#include "nemesis/schedule.h"
#include "nemesis/victims.h"

namespace assay {
namespace {

class LinkFaultRun : public NemesisRun {
 public:
  LinkFaultRun(Cluster& cluster, const NemesisOptions& options, LinkFault fault)
      : cluster_(cluster),
        options_(options),
        groups_(options.rng.stream("groups")),
        fault_(std::move(fault)) {}

  Gen schedule() override { return fault_schedule(fault_.kind, options_.shapes, options_); }

  void invoke(const Op& op, std::function<void(Op)> done) override {
    if (op.f == stop_of(fault_.kind)) {
      cluster_.mend_links(fault_.kind, [op, done = std::move(done)](const Result<Effect>& seen) {
        done(fault_stopped(op, seen));
      });
      return;
    }
    const std::string shape(op.value.text_or("shape", "one"));
    const int leader = cluster_.leader();
    const auto links =
        partition_cuts(shape, static_cast<int>(cluster_.nodes().size()), leader, groups_);
    cluster_.break_links(
        fault_, links,
        [this, op, shape, leader, links, done = std::move(done)](const Result<Effect>& seen) {
          std::set<int> struck;
          for (const Cut& link : links) struck.insert(link.to);
          done(fault_started(op, cluster_, {struck.begin(), struck.end()}, links,
                             aimed(shape, leader >= 0, seen), "faulty"));
        });
  }

 private:
  Cluster& cluster_;
  NemesisOptions options_;
  Rng groups_;
  LinkFault fault_;
};

Result<int64_t> read_number(const std::string& text, int64_t least, int64_t most) {
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < least || number > most)
    return input_error("a whole number from " + std::to_string(least) + " to " +
                       std::to_string(most));
  return number;
}

Result<int64_t> read_span_ms(const std::string& text) {
  const auto span = parse_duration(text);
  if (!span || *span < Nanos{} || *span > seconds(60) || (*span > Nanos{} && to_ms(*span) == 0))
    return input_error("a duration from 1ms to 60s, or 0s: once");
  return to_ms(*span);
}

// A kind of fault, and its one option.
struct Kind {
  const char* kind;
  const char* summary;
  NemesisOption option;                              // none where its name is empty
  const char* setting;                               // of the LinkFault
  Result<int64_t> (*read)(const std::string& text);  // an error says what was expected
};

class LinkFaultNemesis : public Nemesis {
 public:
  explicit LinkFaultNemesis(Kind kind) : kind_(std::move(kind)) {}

  std::string_view kind() const override { return kind_.kind; }
  std::string_view summary() const override { return kind_.summary; }
  std::string_view needs() const override {
    return std::string_view(kind_.kind) == "disconnect" ? "ss -K (root, or user namespaces)"
                                                        : "nftables (root, or user namespaces)";
  }
  std::vector<std::string_view> shapes() const override { return partition_nemesis().shapes(); }
  std::vector<NemesisOption> options() const override {
    if (kind_.option.name.empty()) return {};
    return {kind_.option};
  }
  Result<void> accepts(const std::map<std::string, std::string>& settings) const override {
    const auto fault = read(settings);
    return fault ? Result<void>() : fault.error();
  }
  bool available(const Powers& powers) const override { return powers.links.contains(kind_.kind); }
  std::unique_ptr<NemesisRun> start(Cluster& cluster,
                                    const NemesisOptions& options) const override {
    NemesisOptions used = options;
    const auto all = shapes();
    if (used.shapes.empty()) used.shapes = {all.begin(), all.end()};
    const LinkFault fault = *read(options.settings);
    const auto every = fault.settings.find("every_ms");
    if (every != fault.settings.end() && every->second == 0) used.duration = Nanos{};
    return std::make_unique<LinkFaultRun>(cluster, used, fault);
  }

 private:
  Result<LinkFault> read(const std::map<std::string, std::string>& settings) const {
    LinkFault fault{kind_.kind, {}};
    if (kind_.option.name.empty()) return fault;
    const auto given = settings.find(kind_.option.name);
    const std::string text = given == settings.end() ? kind_.option.fallback : given->second;
    const auto number = kind_.read(text);
    if (!number)
      return input_error(std::string(kind_.kind) + "." + kind_.option.name + ": expected " +
                         number.error().message + ", found \"" + text + "\"");
    fault.settings[kind_.setting] = *number;
    return fault;
  }

  const Kind kind_;
};

}  // namespace

const Nemesis& loss_nemesis() {
  static const LinkFaultNemesis nemesis(
      {"loss",
       "some of the packets between nodes are lost, then none",
       {"percent", "30", "of 100 packets so many are lost, by chance"},
       "percent",
       [](const std::string& text) { return read_number(text, 1, 100); }});
  return nemesis;
}

const Nemesis& rate_nemesis() {
  static const LinkFaultNemesis nemesis(
      {"rate",
       "links between nodes carry only so much, and lose what is above it",
       {"kbytes", "8", "so many kilobytes a second pass on each link"},
       "kbytes",
       [](const std::string& text) { return read_number(text, 1, 10'000); }});
  return nemesis;
}

const Nemesis& reset_nemesis() {
  static const LinkFaultNemesis nemesis(
      {"reset", "TCP packets between nodes are answered by a reset, then pass again", {}, "", {}});
  return nemesis;
}

const Nemesis& disconnect_nemesis() {
  static const LinkFaultNemesis nemesis(
      {"disconnect",
       "TCP connections between nodes are destroyed, again and again",
       {"every", "1s", "after so long again; 0s: only once"},
       "every_ms",
       read_span_ms});
  return nemesis;
}

}  // namespace assay
