#include "targets/third_party/etcd.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>

#include "checkers/history/rng.h"
#include "targets/kv/http/kv_client.h"
#include "targets/third_party/etcd_members.h"
#include "targets/third_party/look_up.h"

namespace assay {
namespace {

constexpr const char* kDrawn = "drawn";
constexpr const char* kCompactionOff = "off";
constexpr int64_t kElectionMsMax = 50'000;  // etcd's own limits
constexpr int64_t kHeartbeatsPerElection = 5;

struct Settings {
  std::string program;
  int64_t snapshot_count = 0;
  int64_t heartbeat_ms = 0;
  int64_t election_ms = 0;
  std::string compaction;  // "off", "periodic:10s", "revision:1000"
  bool serializable_reads = false;
  std::string token_kind;
  KvTokens tokens = KvTokens::kRevision;
};

// What stands in a log of etcd that is broken. Its own lines are JSON with a level; its words for
// settings ("corrupt-check-time-interval") are no finding.
constexpr std::pair<std::string_view, std::string_view> kFindings[] = {
    {R"("level":"panic")", "panic"},
    {R"("level":"dpanic")", "panic"},
    {"panic: ", "panic"},
    {"fatal error: ", "panic"},
    {"[signal SIG", "panic"},
    {"WARNING: DATA RACE", "sanitizer"},
    {"data inconsistency", "corruption"},
    {"CORRUPT", "corruption"},
    {"crc mismatch", "corruption"},
    {"hash mismatch", "corruption"},
    {R"("level":"fatal")", "fatal"},
};

class EtcdTarget : public Target {
 public:
  EtcdTarget(Settings settings, TargetSettings drawn)
      : settings_(std::move(settings)), drawn_(std::move(drawn)) {}

  std::string_view name() const override { return "etcd"; }
  Claims claims() const override {
    // It counts elections in whole heartbeats.
    const int64_t ticks = settings_.election_ms / settings_.heartbeat_ms;
    const bool revisions = settings_.tokens == KvTokens::kRevision;
    return {.orderable = revisions,
            .token_kind = settings_.token_kind,
            .watch = revisions,
            .compacts = settings_.compaction != kCompactionOff,
            .election_timeout_min = milliseconds(ticks * settings_.heartbeat_ms),
            .clock = "no: Go reads the clock past libfaketime"};
  }
  std::vector<Symbol> ops() const override { return kv_client_ops(settings_.tokens); }
  bool has_daemons() const override { return true; }
  TargetSettings drawn() const override { return drawn_; }
  std::vector<std::string> binaries(const Layout&) const override {
    const std::string program = look_up(settings_.program);
    if (program.empty()) return {};
    return {program};
  }

  Result<DaemonSpec> daemon(const Layout& layout, const NodeInfo& node) const override {
    const std::string program = look_up(settings_.program);
    if (program.empty()) {
      return environment_error("cannot run " + settings_.program + ": " +
                               (settings_.program == "etcd"
                                    ? "not found in PATH (package etcd-server)"
                                    : "no such program"));
    }
    DaemonSpec spec;
    spec.name = "etcd";
    spec.cwd = node.folder;
    spec.log_path = node.folder + "/etcd.log";
    spec.env = {{"NO_PROXY", "*"}};  // between peers
    spec.argv = without_own_environment();
    const std::string client = url(node, node.client_port);
    const std::string peer = url(node, node.peer_port);
    spec.argv.insert(spec.argv.end(),
                     {program, "--name=" + node.name, "--data-dir=" + node.folder + "/data/etcd",
                      "--listen-client-urls=" + client, "--advertise-client-urls=" + client,
                      "--listen-peer-urls=" + peer, "--initial-advertise-peer-urls=" + peer,
                      "--initial-cluster=" + members(layout), "--initial-cluster-state=new",
                      // No two runs have one folder.
                      "--initial-cluster-token=" + layout.nodes.front().folder,
                      "--heartbeat-interval=" + std::to_string(settings_.heartbeat_ms),
                      "--election-timeout=" + std::to_string(settings_.election_ms),
                      "--snapshot-count=" + std::to_string(settings_.snapshot_count),
                      "--logger=zap", "--log-outputs=stderr"});
    if (settings_.compaction != kCompactionOff) {
      const size_t colon = settings_.compaction.find(':');
      spec.argv.push_back("--auto-compaction-mode=" + settings_.compaction.substr(0, colon));
      spec.argv.push_back("--auto-compaction-retention=" + settings_.compaction.substr(colon + 1));
    }
    return spec;
  }

  void open_client(Loop& loop, const NodeInfo& node,
                   Callback<std::unique_ptr<Client>> done) override {
    open_kv_client(
        loop, node,
        {.serializable_reads = settings_.serializable_reads, .compacted = compacted_,
         .tokens = settings_.tokens},
        std::move(done));
  }
  void status(Loop& loop, const NodeInfo& node, Callback<Value> done) override {
    members_.status(loop, node, std::move(done));
  }
  void chain(Loop& loop, const NodeInfo& node, int64_t, Callback<Value> done) override {
    const bool whole = settings_.compaction == kCompactionOff && !*compacted_;
    if (whole) return members_.hash(loop, node, std::move(done));
    members_.contents(loop, node, std::move(done));
  }

  std::string_view log_finding(std::string_view line) const override {
    for (const auto& [words, finding] : kFindings) {
      if (line.find(words) != std::string_view::npos) return finding;
    }
    return "";
  }

 private:
  static std::string url(const NodeInfo& node, int port) {
    return "http://" + node.address + ":" + std::to_string(port);
  }
  static std::string members(const Layout& layout) {
    std::string list;
    for (const NodeInfo& node : layout.nodes)
      list += (list.empty() ? "" : ",") + node.name + "=" + url(node, node.peer_port);
    return list;
  }
  // etcd refuses to start where a variable and an option say the same thing.
  static std::vector<std::string> without_own_environment() {
    std::vector<std::string> argv;
    for (char** entry = environ; *entry != nullptr; ++entry) {
      const std::string text = *entry;
      const std::string name = text.substr(0, text.find('='));
      // This one is a user's consent.
      if (!name.starts_with("ETCD_") || name == "ETCD_UNSUPPORTED_ARCH") continue;
      if (argv.empty()) argv.emplace_back("env");
      argv.insert(argv.end(), {"-u", name});
    }
    return argv;
  }

  Settings settings_;
  TargetSettings drawn_;
  EtcdMembers members_;
  const std::shared_ptr<bool> compacted_ = std::make_shared<bool>(false);  // by its clients
};

std::optional<int64_t> number(std::string_view text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

Error expected(const std::string& option, const std::string& what, const std::string& found) {
  return input_error("etcd." + option + ": expected " + what + ", found \"" + found + "\"");
}

// Whether etcd takes it: 250ms, 10s, 5m, 1h.
bool is_duration(std::string_view text) {
  const size_t unit = text.find_first_not_of("0123456789");
  if (unit == 0 || unit == std::string_view::npos) return false;
  const auto value = number(text.substr(0, unit));
  const std::string_view name = text.substr(unit);
  return value && *value > 0 && (name == "ms" || name == "s" || name == "m" || name == "h");
}

bool is_compaction(const std::string& text) {
  if (text == kCompactionOff) return true;
  const size_t colon = text.find(':');
  if (colon == std::string::npos) return false;
  const std::string mode = text.substr(0, colon);
  const std::string retention = text.substr(colon + 1);
  if (mode == "periodic") return is_duration(retention);
  const auto revisions = number(retention);
  return mode == "revision" && revisions && *revisions > 0;
}

class Maker {
 public:
  Maker(const TargetSettings& given, uint64_t seed)
      : given_(given), rng_(Rng(seed).stream("etcd")) {}

  Result<std::unique_ptr<Target>> make() {
    settings_.program = text("program");
    if (settings_.program.empty()) return expected("program", "a program", "");
    if (text("serializable-reads") != "true" && text("serializable-reads") != "false")
      return expected("serializable-reads", "true or false", text("serializable-reads"));
    settings_.serializable_reads = text("serializable-reads") == "true";
    settings_.token_kind = text("token");
    const auto tokens = find_sound_kv_tokens(settings_.token_kind);
    if (!tokens) return expected("token", "revision or key-version", settings_.token_kind);
    settings_.tokens = *tokens;

    const auto explicit_election = number(text("election-timeout-ms"));
    const int64_t heartbeat_max =
        explicit_election ? std::max<int64_t>(1, *explicit_election / kHeartbeatsPerElection) : 100;
    const auto draw_heartbeat = [&](Rng& rng) {
      return rng.between(std::min<int64_t>(50, heartbeat_max),
                         std::min<int64_t>(100, heartbeat_max));
    };
    auto heartbeat =
        whole_number("heartbeat-ms", kElectionMsMax / kHeartbeatsPerElection, draw_heartbeat);
    if (!heartbeat) return heartbeat.error();
    const int64_t election_min = *heartbeat * kHeartbeatsPerElection;
    const auto draw_election = [&](Rng& rng) {
      return rng.between(std::max<int64_t>(500, election_min),
                         std::max<int64_t>(1000, election_min));
    };
    auto election = whole_number("election-timeout-ms", kElectionMsMax, draw_election);
    if (!election) return election.error();
    if (*election < election_min) {
      return expected("election-timeout-ms",
                      "at least " + std::to_string(kHeartbeatsPerElection) +
                          " times etcd.heartbeat-ms, " + std::to_string(election_min),
                      text("election-timeout-ms"));
    }
    const auto draw_count = [](Rng& rng) {
      constexpr int64_t kCounts[] = {100, 1000, 10'000};
      return kCounts[rng.below(std::size(kCounts))];
    };
    auto count = whole_number("snapshot-count", 1'000'000'000, draw_count);
    if (!count) return count.error();
    settings_.heartbeat_ms = *heartbeat;
    settings_.election_ms = *election;
    settings_.snapshot_count = *count;
    if (auto done = compaction(); !done) return done.error();
    return std::unique_ptr<Target>(
        std::make_unique<EtcdTarget>(std::move(settings_), std::move(drawn_)));
  }

 private:
  const std::string& text(std::string_view option) const {
    static const std::string none;
    for (const auto& [name, value] : given_) {
      if (name == option) return value;
    }
    return none;
  }

  template <typename Draw>
  Result<int64_t> whole_number(const std::string& option, int64_t max, Draw draw) {
    if (text(option) == kDrawn) {
      Rng rng = rng_.stream(option);
      const int64_t value = draw(rng);
      drawn_.emplace_back(option, std::to_string(value));
      return value;
    }
    const auto value = number(text(option));
    if (value && *value >= 1 && *value <= max) return *value;
    return expected(option, "drawn, or a whole number from 1 to " + std::to_string(max),
                    text(option));
  }

  Result<void> compaction() {
    settings_.compaction = text("compaction");
    if (settings_.compaction == kDrawn) {
      // By revisions it compacts every five minutes only: too rare to be drawn.
      constexpr const char* kChoices[] = {kCompactionOff, kCompactionOff, "periodic:2s",
                                          "periodic:10s"};
      settings_.compaction = kChoices[rng_.stream("compaction").below(std::size(kChoices))];
      drawn_.emplace_back("compaction", settings_.compaction);
      return {};
    }
    if (is_compaction(settings_.compaction)) return {};
    return expected("compaction", "drawn, off, or such as periodic:10s or revision:1000",
                    settings_.compaction);
  }

  const TargetSettings& given_;
  const Rng rng_;
  Settings settings_;
  TargetSettings drawn_;
};

Result<std::unique_ptr<Target>> make(const TargetInfo::Settings& given, uint64_t seed) {
  return Maker(given, seed).make();
}

}  // namespace

TargetInfo etcd_target() {
  return {
      .name = "etcd",
      .summary = "etcd (package etcd-server)",
      .options =
          {
              {"program", "etcd", "looked up in PATH, or a path"},
              {"snapshot-count", kDrawn, "entries between two snapshots: 100 to 10000"},
              {"heartbeat-ms", kDrawn, "between a leader's heartbeats: 50 to 100"},
              {"election-timeout-ms", kDrawn, "500 to 1000"},
              {"compaction", kDrawn, "off, periodic:TIME or revision:N"},
              kv_token_option(),
              {"serializable-reads", "false", "any member answers reads from what it has", true},
          },
      .token_kinds = sound_kv_tokens(),
      .make = make};
}

}  // namespace assay
