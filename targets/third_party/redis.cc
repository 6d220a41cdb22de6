#include "targets/third_party/redis.h"

#include <charconv>

#include "checkers/history/rng.h"
#include "targets/third_party/look_up.h"
#include "targets/third_party/redis_client.h"
#include "targets/third_party/redis_config.h"
#include "targets/third_party/redis_group.h"
#include "targets/third_party/redis_members.h"

namespace assay {
namespace {

constexpr const char* kDrawn = "drawn";
constexpr int64_t kMsMax = 3'600'000;
constexpr int64_t kReplicasMax = 63;

struct Settings {
  std::string program;
  std::string sentinel;
  SentinelTimes times;
  int wait = 0;
  bool any_node_reads = false;
};

// What stands in a log of Redis or of a Sentinel that is broken. A short last record after SIGKILL
// is none: it is cut off, and said in other words.
constexpr std::pair<std::string_view, std::string_view> kFindings[] = {
    {"=== REDIS BUG REPORT START", "panic"},
    {"Guru Meditation", "panic"},
    {"=== ASSERTION FAILED", "panic"},
    {"crashed by signal", "panic"},
    {"Out Of Memory allocating", "panic"},
    {"AddressSanitizer", "sanitizer"},
    {"ThreadSanitizer", "sanitizer"},
    {"runtime error:", "sanitizer"},
    {"Bad file format reading the append only file", "corruption"},
    {"Unexpected end of file reading the append only file", "corruption"},
    {"Unrecoverable error reading the append only file", "corruption"},
    {"Internal error in RDB reading", "corruption"},
    {"Wrong signature trying to load DB", "corruption"},
    {"RDB file was corrupted", "corruption"},
    {"AOF write error", "fatal"},
    {"Fatal error", "fatal"},
    {"FATAL", "fatal"},
};

class RedisTarget : public Target {
 public:
  RedisTarget(Settings settings, TargetSettings drawn)
      : settings_(std::move(settings)), drawn_(std::move(drawn)) {}

  std::string_view name() const override { return "redis"; }
  Claims claims() const override {
    return {.guarded_write = false, .orderable = false, .election_timeout_min = {}, .clock = "libfaketime"};
  }
  std::vector<Symbol> ops() const override { return {f::read, f::write, f::cas, f::delete_}; }
  bool has_daemons() const override { return true; }
  TargetSettings drawn() const override { return drawn_; }
  Result<void> fits(int nodes) const override {
    if (settings_.wait < nodes) return {};
    return input_error("redis.wait: expected at most " + std::to_string(nodes - 1) +
                       ", the replicas of " + std::to_string(nodes) + " nodes, found " +
                       std::to_string(settings_.wait));
  }
  std::vector<std::string> binaries(const Layout&) const override {
    std::vector<std::string> found;
    for (const std::string& program : {settings_.program, settings_.sentinel}) {
      if (std::string path = look_up(program); !path.empty()) found.push_back(std::move(path));
    }
    return found;
  }

  Result<DaemonSpec> daemon(const Layout&, const NodeInfo& node) const override {
    const std::string server = look_up(settings_.program);
    const std::string sentinel = look_up(settings_.sentinel);
    if (server.empty()) return missing(settings_.program, "redis-server");
    if (sentinel.empty()) return missing(settings_.sentinel, "redis-sentinel");
    DaemonSpec spec;
    spec.name = "redis";
    spec.cwd = node.folder;
    spec.log_path = node.folder + "/redis.log";
    spec.argv = redis_argv(server, sentinel);
    return spec;
  }
  std::vector<CommandSpec> preparations(const Layout& layout, const NodeInfo& node) const override {
    return {file(node, "redis.conf", redis_conf(layout, node)),
            file(node, "sentinel.conf", sentinel_conf(layout, node, settings_.times))};
  }

  void begin(const Layout& layout, Nanos op_timeout, int) override {
    layout_ = layout;
    // What WAIT has got by then it says; the rest is for the way.
    client_.wait_ms = static_cast<int>(std::max<int64_t>(1, op_timeout.count / 1'000'000 * 4 / 5));
    client_.wait = settings_.wait;
    client_.any_node_reads = settings_.any_node_reads;
  }
  void try_clients(Loop& loop, Callback<void> done) override {
    form_redis_group(loop, layout_, settings_.times, std::move(done));
  }
  void open_client(Loop& loop, const NodeInfo& node,
                   Callback<std::unique_ptr<Client>> done) override {
    open_redis_client(loop, node, client_, std::move(done));
  }
  void status(Loop& loop, const NodeInfo& node, Callback<Value> done) override {
    ask_redis(loop, node, kRedisStatusCommand,
              [layout = layout_, node, done = std::move(done)](const Result<RedisReply>& reply) {
                reply ? done(redis_status_of(layout, node, reply->text)) : done(reply.error());
              });
  }
  void chain(Loop& loop, const NodeInfo&, int64_t, Callback<Value> done) override {
    loop.post([done = std::move(done)] { done(Value()); });
  }

  std::string_view log_finding(std::string_view line) const override {
    for (const auto& [words, finding] : kFindings) {
      if (line.find(words) != std::string_view::npos) return finding;
    }
    return "";
  }

 private:
  static Error missing(const std::string& program, const std::string& packaged) {
    return environment_error(
        "cannot run " + program + ": " +
        (program == packaged ? "not found in PATH (package " + packaged + ")" : "no such program"));
  }
  static CommandSpec file(const NodeInfo& node, const std::string& name, std::string text) {
    return {.argv = {"sh", "-c", R"(cat >"$1")", "sh", node.folder + "/" + name},
            .input = std::move(text)};
  }

  const Settings settings_;
  const TargetSettings drawn_;
  Layout layout_;
  RedisClientOptions client_;
};

// Settings of one target, read one by one; the first mistake is kept.
class Maker {
 public:
  Maker(const TargetSettings& given, uint64_t seed)
      : given_(given), rng_(Rng(seed).stream("redis")) {}

  Result<std::unique_ptr<Target>> make() {
    Settings settings;
    settings.program = program("program");
    settings.sentinel = program("sentinel");
    settings.wait = static_cast<int>(whole_number("wait", 0, kReplicasMax));
    settings.times.down_after_ms = drawn_number("down-after-ms", 500, 1000);
    settings.times.failover_timeout_ms = drawn_number("failover-timeout-ms", 2000, 4000);
    const std::string& reads = text("reads");
    settings.any_node_reads = reads == "any";
    if (reads != "any" && reads != "primary") expected("reads", "primary or any");
    if (error_) return *error_;
    return std::unique_ptr<Target>(
        std::make_unique<RedisTarget>(std::move(settings), std::move(drawn_)));
  }

 private:
  const std::string& text(std::string_view option) const {
    static const std::string none;
    for (const auto& [name, value] : given_) {
      if (name == option) return value;
    }
    return none;
  }
  void expected(const std::string& option, const std::string& what) {
    if (error_) return;
    error_ =
        input_error("redis." + option + ": expected " + what + ", found \"" + text(option) + "\"");
  }

  std::string program(const std::string& option) {
    if (text(option).empty()) expected(option, "a program");
    return text(option);
  }
  int64_t whole_number(const std::string& option, int64_t min, int64_t max,
                       const std::string& or_else = "") {
    const std::string& given = text(option);
    int64_t value = 0;
    const auto [end, error] = std::from_chars(given.data(), given.data() + given.size(), value);
    if (error == std::errc() && end == given.data() + given.size() && value >= min && value <= max)
      return value;
    expected(option,
             or_else + "a whole number from " + std::to_string(min) + " to " + std::to_string(max));
    return min;
  }
  int64_t drawn_number(const std::string& option, int64_t low, int64_t high) {
    if (text(option) != kDrawn) return whole_number(option, 1, kMsMax, "drawn, or ");
    const int64_t value = rng_.stream(option).between(low, high);
    drawn_.emplace_back(option, std::to_string(value));
    return value;
  }

  const TargetSettings& given_;
  const Rng rng_;
  TargetSettings drawn_;
  std::optional<Error> error_;
};

}  // namespace

TargetInfo redis_target() {
  return {
      .name = "redis",
      .summary = "Redis with Sentinel (packages redis-server, redis-sentinel)",
      .options =
          {
              {"program", "redis-server", "looked up in PATH, or a path"},
              {"sentinel", "redis-sentinel", "the same"},
              {"wait", "0", "replicas that must have a change before it is acknowledged (WAIT)"},
              {"down-after-ms", kDrawn,
               "silence after which a Sentinel gives a node up: 500 to 1000"},
              {"failover-timeout-ms", kDrawn, "2000 to 4000"},
              {"reads", "primary", "primary, or any: replicas answer from what they have", true},
          },
      .make = [](const TargetInfo::Settings& given, uint64_t seed) {
        return Maker(given, seed).make();
      }};
}

}  // namespace assay
