#include "targets/raft/server/options.h"

#include <algorithm>
#include <charconv>
#include <functional>
#include <optional>

#include "targets/kv/service/hash.h"

namespace assay::raft {
namespace {

constexpr std::string_view kHelp =
    R"(assay-raft: one node of a replicated key-value store (Raft) that speaks etcd v3's JSON API

usage: assay-raft --name n1 --data DIR --client ADDR:PORT --peer ADDR:PORT --cluster n1=ADDR:PORT,...

  --name NAME                 this node's name; one of --cluster's
  --data DIR                  folder for its log; made if it is not there
  --client ADDR:PORT          where clients are served (HTTP)
  --peer ADDR:PORT            where the other nodes connect to
  --cluster NAME=ADDR:PORT,...  all nodes with their --peer addresses, the same list on each
  --heartbeat-ms N            a leader's heartbeat (50)
  --election-timeout-ms MIN-MAX  drawn from this range; MIN at least twice the heartbeat (300-600)
  --seed N                    of the election time-outs (drawn)
  --segment-bytes N           a file of the log is left when it is larger (16777216)
  --snapshot-entries N        applied entries from one snapshot to the next; the log before it goes;
                              0: none (10000)
  --snapshot-keep N           of those in the snapshot, how many stay in the log, for nodes that
                              lag a little; others are sent the whole state (5000)
  --pending-requests-max N    further requests are refused (10000)
  --watch-progress-ms N       between progress notifications, for watches that ask for them (500)
  --help, --version

Addresses are numeric: 127.0.0.1:2379, [::1]:2379. It runs in the foreground and logs to standard
error; SIGTERM or SIGINT ends it.

Wrong on purpose, to prove that a test notices; never use them for data:
  --unsafe-canary-local-reads     any node answers reads from what it has, asking nobody
  --unsafe-canary-early-ack       the leader answers a write before a majority has it
  --unsafe-canary-unsynced-ack    a write is answered before it is synced to the disk
  --unsafe-canary-buffered-ack    a write is answered while it is in this process's memory only
  --unsafe-canary-forgotten-vote  term and vote are not written to the disk
  --unsafe-canary-unchecked-leader-reads  the leader answers reads without asking whether it leads
  --unsafe-canary-watch-from-now  every watch begins with the next change, whatever it asked for
  --unsafe-canary-ignored-guards  a transaction's comparisons with mod_revision always hold
  --unsafe-canary-token content-hash|key-counter|wall-clock  what mod_revision is instead
  --clock-offset-ms N             of this node's clock, for wall-clock (0)

exit codes: 0 ended by a signal, 1 could not start (port, folder), 2 bad arguments,
            3 the log is damaged or another node's, 4 the disk failed while running

  curl http://127.0.0.1:2379/v3/kv/put -d '{"key":"Zm9v","value":"YmFy"}'
  curl http://127.0.0.1:2379/v3/kv/range -d '{"key":"Zm9v"}'
  curl -N http://127.0.0.1:2379/v3/watch -d '{"create_request":{"key":"Zm9v","start_revision":2}}'
  curl http://127.0.0.1:2379/assay/status
)";

std::optional<uint64_t> number_in(std::string_view text, uint64_t least, uint64_t most) {
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  if (number < least || number > most) return std::nullopt;
  return number;
}

std::optional<Endpoint> endpoint_of(std::string_view text) {
  const size_t colon = text.rfind(':');
  if (colon == std::string_view::npos || colon == 0) return std::nullopt;
  const auto port = number_in(text.substr(colon + 1), 1, 65535);
  if (!port) return std::nullopt;
  std::string_view address = text.substr(0, colon);
  if (address.starts_with('[') && address.ends_with(']')) {
    address = address.substr(1, address.size() - 2);
  }
  return Endpoint{std::string(address), static_cast<int>(*port)};
}

// Reads one flag's value into the options; says what was expected when it does not fit.
using Setter = std::function<std::string(std::string_view value)>;

struct Flag {
  std::string_view name;
  bool required;
  Setter set;
};

std::string set_number(std::string_view text, uint64_t least, uint64_t most,
                       const std::function<void(uint64_t)>& set) {
  const auto number = number_in(text, least, most);
  if (!number) {
    return "a whole number from " + std::to_string(least) + " to " + std::to_string(most);
  }
  set(*number);
  return "";
}

std::string set_endpoint(std::string_view text, Endpoint& endpoint) {
  const auto parsed = endpoint_of(text);
  if (!parsed) return "ADDRESS:PORT";
  endpoint = *parsed;
  return "";
}

std::string set_range(std::string_view text, int& min, int& max) {
  const size_t dash = text.find('-');
  const auto low = number_in(text.substr(0, dash), 1, 3'600'000);
  const auto high = dash == std::string_view::npos
                        ? std::nullopt
                        : number_in(text.substr(dash + 1), low.value_or(1), 3'600'000);
  if (!low || !high) return "MIN-MAX in milliseconds";
  min = static_cast<int>(*low);
  max = static_cast<int>(*high);
  return "";
}

std::string set_cluster(std::string_view text, std::vector<MemberAddress>& cluster) {
  cluster.clear();
  while (true) {
    const std::string_view member = text.substr(0, text.find(','));
    const size_t equals = member.find('=');
    if (equals == std::string_view::npos || equals == 0) return "NAME=ADDRESS:PORT,...";
    const auto endpoint = endpoint_of(member.substr(equals + 1));
    if (!endpoint) return "NAME=ADDRESS:PORT,...";
    cluster.push_back({NodeId{}, std::string(member.substr(0, equals)), *endpoint});
    if (member.size() == text.size()) break;
    text.remove_prefix(member.size() + 1);
  }
  std::sort(cluster.begin(), cluster.end(),
            [](const auto& a, const auto& b) { return a.name < b.name; });
  for (size_t i = 0; i < cluster.size(); ++i) {
    if (i > 0 && cluster[i].name == cluster[i - 1].name) return "each name once";
    cluster[i].id = NodeId{i + 1};
  }
  return "";
}

std::string set_text(std::string_view text, std::string& out) {
  if (text.empty()) return "something";
  out = text;
  return "";
}

std::string set_token(std::string_view text, kv::TokenKind& token) {
  if (text == "content-hash") {
    token = kv::TokenKind::kContentHash;
  } else if (text == "key-counter") {
    token = kv::TokenKind::kKeyCounter;
  } else if (text == "wall-clock") {
    token = kv::TokenKind::kWallClock;
  } else {
    return "content-hash, key-counter or wall-clock";
  }
  return "";
}

std::string set_offset(std::string_view text, int64_t& offset_ms) {
  const bool behind = text.starts_with('-');
  const std::string wrong = set_number(text.substr(behind ? 1 : 0), 0, 86'400'000, [&](uint64_t n) {
    offset_ms = static_cast<int64_t>(n) * (behind ? -1 : 1);
  });
  return wrong.empty() ? "" : "milliseconds from -86400000 to 86400000";
}

std::vector<Flag> flags_for(ServerOptions& o) {
  return {
      {"--name", true, [&](auto v) { return set_text(v, o.name); }},
      {"--data", true, [&](auto v) { return set_text(v, o.data); }},
      {"--client", true, [&](auto v) { return set_endpoint(v, o.client); }},
      {"--peer", true, [&](auto v) { return set_endpoint(v, o.peer); }},
      {"--cluster", true, [&](auto v) { return set_cluster(v, o.cluster); }},
      {"--heartbeat-ms", false,
       [&](auto v) {
         return set_number(v, 1, 60'000, [&](uint64_t n) { o.heartbeat_ms = static_cast<int>(n); });
       }},
      {"--election-timeout-ms", false,
       [&](auto v) { return set_range(v, o.election_ms_min, o.election_ms_max); }},
      {"--seed", false,
       [&](auto v) { return set_number(v, 1, UINT64_MAX, [&](uint64_t n) { o.seed = n; }); }},
      {"--segment-bytes", false,
       [&](auto v) {
         return set_number(v, 4096, uint64_t{1} << 40, [&](uint64_t n) { o.segment_bytes = n; });
       }},
      {"--snapshot-entries", false,
       [&](auto v) {
         return set_number(v, 0, uint64_t{1} << 40, [&](uint64_t n) { o.snapshot_entries = n; });
       }},
      {"--snapshot-keep", false,
       [&](auto v) {
         return set_number(v, 0, uint64_t{1} << 40, [&](uint64_t n) { o.snapshot_keep = n; });
       }},
      {"--pending-requests-max", false,
       [&](auto v) {
         return set_number(v, 1, 1'000'000, [&](uint64_t n) { o.pending_requests_max = n; });
       }},
      {"--watch-progress-ms", false,
       [&](auto v) {
         return set_number(v, 10, 3'600'000,
                           [&](uint64_t n) { o.watch_progress_ms = static_cast<int>(n); });
       }},
      {"--unsafe-canary-token", false,
       [&](auto v) { return set_token(v, o.canary.service.token); }},
      {"--clock-offset-ms", false, [&](auto v) { return set_offset(v, o.clock_offset_ms); }},
  };
}

struct Switch {
  std::string_view name;
  bool& (*field)(Canary&);
};
constexpr Switch kSwitches[] = {
    {"--unsafe-canary-local-reads",
     [](Canary& c) -> bool& { return c.wrong_local_reads_from_any_node; }},
    {"--unsafe-canary-early-ack",
     [](Canary& c) -> bool& { return c.wrong_acknowledge_before_commit; }},
    {"--unsafe-canary-buffered-ack",
     [](Canary& c) -> bool& { return c.wrong_acknowledge_from_process_buffer; }},
    {"--unsafe-canary-forgotten-vote",
     [](Canary& c) -> bool& { return c.wrong_forget_term_and_vote; }},
    {"--unsafe-canary-unchecked-leader-reads",
     [](Canary& c) -> bool& { return c.wrong_read_without_quorum; }},
    {"--unsafe-canary-unsynced-ack",
     [](Canary& c) -> bool& { return c.wrong_acknowledge_without_sync; }},
    {"--unsafe-canary-watch-from-now", [](Canary& c) -> bool& { return c.wrong_watch_from_now; }},
    {"--unsafe-canary-ignored-guards",
     [](Canary& c) -> bool& { return c.service.wrong_ignore_guards; }},
};

std::string contradiction_in(const ServerOptions& options) {
  if (options.election_ms_min < 2 * options.heartbeat_ms) {
    return "--election-timeout-ms: its least must be at least twice --heartbeat-ms";
  }
  if (!options.id()) return "--name: " + options.name + " is not one of --cluster's";
  return "";
}

}  // namespace

std::string Endpoint::to_string() const {
  const bool v6 = address.find(':') != std::string::npos;
  return (v6 ? '[' + address + ']' : address) + ':' + std::to_string(port);
}

NodeId ServerOptions::id() const {
  for (const MemberAddress& member : cluster) {
    if (member.name == name) return member.id;
  }
  return kNobody;
}

uint64_t ServerOptions::cluster_id() const {
  kv::Hasher hasher;
  for (const MemberAddress& member : cluster) hasher.add(member.name);
  return hasher.value();
}

std::variant<ServerOptions, HelpWanted, BadOption> parse_options(
    const std::vector<std::string>& arguments) {
  ServerOptions options;
  std::vector<Flag> flags = flags_for(options);
  std::vector<std::string_view> seen;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    if (argument == "--help" || argument == "-h") return HelpWanted{std::string(kHelp)};
    if (argument == "--version") return HelpWanted{"assay-raft " ASSAY_VERSION "\n"};
    const auto* canary = std::find_if(std::begin(kSwitches), std::end(kSwitches),
                                      [&](const Switch& s) { return s.name == argument; });
    if (canary != std::end(kSwitches)) {
      canary->field(options.canary) = true;
      continue;
    }
    const size_t equals = argument.find('=');
    const std::string name = argument.substr(0, equals);
    const auto flag =
        std::find_if(flags.begin(), flags.end(), [&](const Flag& f) { return f.name == name; });
    if (flag == flags.end()) return BadOption{"unknown option " + name + "; see --help"};
    if (equals == std::string::npos && i + 1 == arguments.size()) {
      return BadOption{name + ": a value is missing"};
    }
    const std::string value =
        equals == std::string::npos ? arguments[++i] : argument.substr(equals + 1);
    if (const std::string expected = flag->set(value); !expected.empty()) {
      return BadOption{name + ": expected " + expected + ", found \"" + value + "\""};
    }
    seen.push_back(flag->name);
  }
  for (const Flag& flag : flags) {
    if (flag.required && std::find(seen.begin(), seen.end(), flag.name) == seen.end()) {
      return BadOption{std::string(flag.name) + " is missing; see --help"};
    }
  }
  if (std::string wrong = contradiction_in(options); !wrong.empty()) return BadOption{wrong};
  return options;
}

}  // namespace assay::raft
