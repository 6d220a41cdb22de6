#include "targets/raft_target.h"

#include <algorithm>
#include <charconv>
#include <cstring>

#include "checkers/history/rng.h"

namespace assay {
namespace {

constexpr const char* kRaftServer = "assay-raft";

struct Settings {
  int64_t heartbeat_ms = 50;
  int64_t election_ms_min = 300;
  int64_t election_ms_max = 600;
  int64_t snapshot_entries = 10'000;
  int64_t snapshot_keep = 5'000;
  int64_t segment_bytes = 16 << 20;
  std::string first_leader;         // a node's name; empty: whoever is first
  std::vector<std::string> flags;   // of assay-raft, besides
  std::string token_kind;           // empty: the policy's
  int64_t clock_offset_ms_max = 0;  // each node's clock is off by at most so much
};

struct Canary {
  const char* option;
  const char* flag;
  const char* summary;
};
constexpr Canary kCanaries[] = {
    {"local-reads", "--unsafe-canary-local-reads", "any node answers reads from what it has"},
    {"early-ack", "--unsafe-canary-early-ack", "writes are acknowledged before they are committed"},
    {"buffered-ack", "--unsafe-canary-buffered-ack",
     "records count as durable while they are in the process's own buffer"},
    {"unsynced-ack", "--unsafe-canary-unsynced-ack",
     "records count as durable once they are written, before they are synced"},
    {"watch-from-now", "--unsafe-canary-watch-from-now",
     "every watch begins with the next change, whatever its start revision"},
};

// What stands in a log of a store that is broken, and the word for it.
constexpr std::pair<std::string_view, std::string_view> kFindings[] = {
    {"broken promise", "panic"},
    {"terminate called", "panic"},
    {"Assertion", "panic"},
    {"Segmentation fault", "panic"},
    {"AddressSanitizer", "sanitizer"},
    {"ThreadSanitizer", "sanitizer"},
    {"LeakSanitizer", "sanitizer"},
    {"runtime error:", "sanitizer"},
    {"corrupt", "corruption"},
    {"fatal", "fatal"},
};

class RaftTarget : public Target {
 public:
  RaftTarget(const RaftPolicy& policy, Settings settings, uint64_t seed)
      : policy_(policy), settings_(std::move(settings)), seed_(seed) {
    if (const auto chosen = find_sound_kv_tokens(settings_.token_kind)) {
      policy_.client.tokens = *chosen;
      policy_.orderable = *chosen == KvTokens::kRevision;
    }
  }

  std::string_view name() const override { return policy_.name; }
  Claims claims() const override {
    return {.orderable = policy_.orderable,
            .token_kind = settings_.token_kind,
            .watch = kv_client_watches(policy_.client.tokens),
            .election_timeout_min = milliseconds(settings_.election_ms_min),
            .clock = "hook"};
  }
  std::vector<Symbol> ops() const override { return kv_client_ops(policy_.client.tokens); }
  bool has_daemons() const override { return true; }
  std::vector<std::string> binaries(const Layout& layout) const override {
    return {layout.bin_dir + "/" + kRaftServer};
  }

  Result<DaemonSpec> daemon(const Layout& layout, const NodeInfo& node) const override {
    DaemonSpec spec;
    spec.name = "assay-raft";
    spec.cwd = node.folder;
    spec.log_path = node.folder + "/assay-raft.log";
    spec.argv = {program_on(layout, node, kRaftServer)};
    for (std::string& argument : member_arguments(layout, node))
      spec.argv.push_back(std::move(argument));
    spec.argv.insert(
        spec.argv.end(),
        {"--heartbeat-ms=" + std::to_string(settings_.heartbeat_ms),
         "--election-timeout-ms=" + election_timeout(node),
         "--snapshot-entries=" + std::to_string(settings_.snapshot_entries),
         "--snapshot-keep=" + std::to_string(settings_.snapshot_keep),
         "--segment-bytes=" + std::to_string(settings_.segment_bytes),
         "--seed=" + std::to_string(seed_ * 64 + static_cast<uint64_t>(node.index) + 1)});
    if (settings_.clock_offset_ms_max > 0)
      spec.argv.push_back("--clock-offset-ms=" + std::to_string(clock_offset_ms(node)));
    spec.argv.insert(spec.argv.end(), settings_.flags.begin(), settings_.flags.end());
    return spec;
  }

  void open_client(Loop& loop, const NodeInfo& node,
                   Callback<std::unique_ptr<Client>> done) override {
    open_kv_client(loop, node, policy_.client, std::move(done));
  }
  void status(Loop& loop, const NodeInfo& node, Callback<Value> done) override {
    fetch_kv_status(loop, node, std::move(done));
  }
  void chain(Loop& loop, const NodeInfo& node, int64_t count, Callback<Value> done) override {
    fetch_kv_chain(loop, node, count, std::move(done));
  }

  std::string_view log_finding(std::string_view line) const override {
    return finding_in_server_log(line);
  }

 private:
  // Where one is to lead first, all others wait longer than it does.
  std::string election_timeout(const NodeInfo& node) const {
    const bool waits = !settings_.first_leader.empty() && settings_.first_leader != node.name;
    const bool leads = settings_.first_leader == node.name;
    const int64_t min = waits ? settings_.election_ms_max : settings_.election_ms_min;
    const int64_t max = waits   ? 2 * settings_.election_ms_max
                        : leads ? settings_.election_ms_min
                                : settings_.election_ms_max;
    return std::to_string(min) + "-" + std::to_string(max);
  }
  int64_t clock_offset_ms(const NodeInfo& node) const {
    const int64_t max = settings_.clock_offset_ms_max;
    return Rng(seed_).stream("clock-offset").stream(node.name).between(-max, max);
  }

  RaftPolicy policy_;
  Settings settings_;
  uint64_t seed_;
};

std::optional<int64_t> number(std::string_view text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// `option` with the target's name before it.
Error expected(const std::string& option, const std::string& what, const std::string& found) {
  return input_error(option + ": expected " + what + ", found \"" + found + "\"");
}

Result<void> set(Settings& settings, const std::string& target, const std::string& name,
                 const std::string& text) {
  const std::string option = target + "." + name;
  for (const Canary& canary : kCanaries) {
    if (name != canary.option) continue;
    if (text != "true" && text != "false") return expected(option, "true or false", text);
    if (text == "true") settings.flags.push_back(canary.flag);
    return {};
  }
  if (name == "heartbeat-ms") {
    const auto value = number(text);
    if (!value || *value < 1 || *value > 60'000)
      return expected(option, "milliseconds from 1 to 60000", text);
    settings.heartbeat_ms = *value;
    return {};
  }
  if (name == "first-leader") {
    const auto index =
        text.starts_with('n') ? number(std::string_view(text).substr(1)) : std::nullopt;
    if (!text.empty() && (!index || *index < 1)) return expected(option, "a node such as n1", text);
    settings.first_leader = text;
    return {};
  }
  if (name == "token") {
    if (!find_sound_kv_tokens(text)) return expected(option, "revision or key-version", text);
    settings.token_kind = text;
    return {};
  }
  if (name == "snapshot-entries" || name == "snapshot-keep") {
    const auto value = number(text);
    if (!value || *value < 0 || *value > 1'000'000'000)
      return expected(option, "entries from 0 to 1000000000", text);
    (name == "snapshot-keep" ? settings.snapshot_keep : settings.snapshot_entries) = *value;
    return {};
  }
  if (name == "segment-bytes") {
    const auto value = number(text);
    if (!value || *value < 4096 || *value > int64_t{1} << 30)
      return expected(option, "bytes from 4096 to 1073741824", text);
    settings.segment_bytes = *value;
    return {};
  }
  if (name == "clock-offset-ms") {
    const auto value = number(text);
    if (!value || *value < 0 || *value > 86'400'000)
      return expected(option, "milliseconds from 0 to 86400000", text);
    settings.clock_offset_ms_max = *value;
    return {};
  }
  const size_t dash = text.find('-');
  const auto low = number(std::string_view(text).substr(0, dash));
  const auto high =
      dash == std::string::npos ? low : number(std::string_view(text).substr(dash + 1));
  if (!low || !high || *low < 1 || *low > *high || *high > 600'000) {
    return expected(option, "milliseconds as 300-600", text);
  }
  settings.election_ms_min = *low;
  settings.election_ms_max = *high;
  return {};
}

Result<std::unique_ptr<Target>> make(const RaftPolicy& policy, const TargetSettings& given,
                                     uint64_t seed) {
  Settings settings;
  settings.flags = policy.flags;
  for (const auto& [option, text] : given) {
    if (auto done = set(settings, policy.name, option, text); !done) return done.error();
  }
  if (settings.election_ms_min < 2 * settings.heartbeat_ms) {
    return input_error(policy.name + ".election-timeout-ms: expected at least twice " +
                       policy.name + ".heartbeat-ms");
  }
  return std::unique_ptr<Target>(std::make_unique<RaftTarget>(policy, std::move(settings), seed));
}

}  // namespace

TargetInfo raft_target_as(RaftPolicy policy) {
  TargetInfo info{
      .name = policy.name,
      .summary = policy.summary,
      .options = {{"heartbeat-ms", "50", "between a leader's heartbeats", false, {"30", "50", "75"}},
                  {"election-timeout-ms", "300-600", "drawn from, by each node", false,
                   {"150-300", "300-600", "300-320", "600-1200"}},
                  {"first-leader", "", "the node that is to lead at the start: n1"},
                  {"snapshot-entries", "10000",
                   "applied entries between two snapshots; 0: none are taken", false,
                   {"0", "5", "50", "500", "10000"}},
                  {"snapshot-keep", "5000", "entries that stay in the log behind a snapshot", false,
                   {"0", "5", "50", "5000"}},
                  {"segment-bytes", "16777216", "after which the log begins a new file", false,
                   {"4096", "65536", "16777216"}}},
      .workload = policy.workload};
  if (policy.clock_offset_ms_max >= 0) {
    info.options.push_back({"clock-offset-ms", std::to_string(policy.clock_offset_ms_max),
                            "each node's clock is off by at most so much, drawn"});
  }
  if (policy.client.tokens == KvTokens::kRevision) {
    info.token_kinds = sound_kv_tokens();
    info.options.push_back(kv_token_option());
  }
  info.make = [policy = std::move(policy)](const TargetSettings& given, uint64_t seed) {
    return make(policy, given, seed);
  };
  return info;
}

TargetInfo raft_target() {
  TargetInfo info =
      raft_target_as({.name = "raft", .summary = "the bundled Raft store (assay-raft)"});
  for (const Canary& canary : kCanaries)
    info.options.push_back({canary.option, "false", canary.summary, true});
  return info;
}

std::vector<std::string> member_arguments(const Layout& layout, const NodeInfo& node) {
  const auto endpoint = [](const NodeInfo& of, int port) {
    return of.address + ":" + std::to_string(port);
  };
  std::string cluster;
  for (const NodeInfo& member : layout.nodes) {
    cluster +=
        (cluster.empty() ? "" : ",") + member.name + "=" + endpoint(member, member.peer_port);
  }
  return {"--name=" + node.name, "--data=" + node.folder + "/data",
          "--client=" + endpoint(node, node.client_port),
          "--peer=" + endpoint(node, node.peer_port), "--cluster=" + cluster};
}

std::string_view finding_in_server_log(std::string_view line) {
  for (const auto& [words, finding] : kFindings) {
    if (line.find(words) != std::string_view::npos) return finding;
  }
  return "";
}

}  // namespace assay
