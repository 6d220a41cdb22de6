// What the agent does for each request (protocol.h).
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "targets/node/agent/agent.h"
#include "targets/node/agent/base64.h"
#include "targets/node/agent/files.h"
#include "targets/node/agent/own_net.h"
#include "targets/node/agent/protocol.h"

namespace assay::agent {
namespace {

using nlohmann::json;

using Strings = std::vector<std::string>;
using StringMap = std::map<std::string, std::string>;

Nanos milliseconds_of(const json& request, const char* key, int64_t missing) {
  return milliseconds(std::clamp<int64_t>(request.value(key, missing), 0, 86'400'000));
}

size_t bytes_of(const json& request, const char* key, size_t limit) {
  return static_cast<size_t>(
      std::clamp<int64_t>(request.value(key, int64_t(limit)), 0, int64_t(limit)));
}

// To the discard port: only the rules on its way care about it. Datagrams, or attempts to connect
// that are given up at once.
void send_probes(const std::string& address, bool tcp, int64_t count, size_t bytes) {
  sockaddr_in v4{.sin_family = AF_INET, .sin_port = htons(9)};
  sockaddr_in6 v6{.sin6_family = AF_INET6, .sin6_port = htons(9)};
  const bool is_v4 = inet_pton(AF_INET, address.c_str(), &v4.sin_addr) == 1;
  if (!is_v4 && inet_pton(AF_INET6, address.c_str(), &v6.sin6_addr) != 1) return;
  const auto* to =
      is_v4 ? reinterpret_cast<const sockaddr*>(&v4) : reinterpret_cast<const sockaddr*>(&v6);
  const socklen_t length = is_v4 ? sizeof v4 : sizeof v6;
  const std::string text(bytes, 'a');
  for (int64_t i = 0; i < count; ++i) {
    const int fd = socket(is_v4 ? AF_INET : AF_INET6,
                          (tcp ? SOCK_STREAM : SOCK_DGRAM) | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) return;
    if (tcp)
      (void)!connect(fd, to, length);
    else
      (void)!sendto(fd, text.data(), text.size(), 0, to, length);
    close(fd);
  }
}

NodeFault::Done<FaultSeen> telling(const Responder& responder) {
  return [responder](const Result<FaultSeen>& seen) {
    if (!seen) return responder.fail(seen.error().message);
    responder.ok({{"installed", seen->installed},
                  {"bit", seen->bit},
                  {"evidence", seen->evidence},
                  {"figure", seen->figure}});
  };
}

void answer(const Result<void>& done, const Responder& responder) {
  done ? responder.ok() : responder.fail(done.error().message);
}

}  // namespace

void Agent::dispatch(Request request, const Responder& responder) {
  using Handler = void (Agent::*)(Request, const Responder&);
  static const std::map<std::string, Handler> handlers = {
      {"beat", &Agent::do_beat},       {"run", &Agent::do_run},         {"start", &Agent::do_start},
      {"remedy", &Agent::do_remedy},   {"forget", &Agent::do_forget},   {"undo", &Agent::do_undo},
      {"kill", &Agent::do_kill},       {"stop", &Agent::do_stop},       {"pause", &Agent::do_pause},
      {"resume", &Agent::do_resume},   {"cut", &Agent::do_cut},         {"heal", &Agent::do_heal},
      {"delay", &Agent::do_delay},     {"undelay", &Agent::do_undelay}, {"probe", &Agent::do_probe},
      {"observe", &Agent::do_observe}, {"fetch", &Agent::do_fetch},     {"list", &Agent::do_list},
      {"mkdir", &Agent::do_mkdir},     {"rm", &Agent::do_rm},           {"tail", &Agent::do_tail},
      {"untail", &Agent::do_untail},   {"fsync", &Agent::do_fsync},     {"net", &Agent::do_net},
      {"close", &Agent::do_close},     {"prepare", &Agent::do_prepare}, {"fault", &Agent::do_fault},
      {"unfault", &Agent::do_unfault}, {"look", &Agent::do_look},       {"break", &Agent::do_break},
      {"mend", &Agent::do_mend},
  };
  const std::string word = request.at("do");
  const auto it = handlers.find(word);
  if (it == handlers.end()) return responder.fail("unknown request \"" + word + "\"");
  (this->*it->second)(request, responder);
}

void Agent::do_beat(Request, const Responder& responder) { responder.ok(); }

void Agent::do_run(Request request, const Responder& responder) {
  ChildSpec spec{.argv = request.at("argv"),
                 .env = request.value("env", StringMap()),
                 .cwd = request.value("cwd", "")};
  const std::string input = request.value("stdin", "");
  if (!input.empty()) spec.in = text_file(input);
  const CommandLimits limits{milliseconds_of(request, "deadline_ms", 60'000),
                             bytes_of(request, "stdout_max", kMaxOutputBytes),
                             bytes_of(request, "stderr_max", kMaxOutputBytes)};
  const auto started = commands_.run(spec, limits, [responder](const CommandResult& result) {
    json reply = to_json(result.exit);
    reply.update({{"timed_out", result.timed_out},
                  {"stdout", result.out},
                  {"stderr", result.err},
                  {"stdout_cut", result.out_cut},
                  {"stderr_cut", result.err_cut}});
    responder.ok(std::move(reply));
  });
  if (spec.in >= 0) close(spec.in);
  if (!started) responder.fail(started.error().message);
}

void Agent::do_remedy(Request request, const Responder& responder) {
  remedies_[request.at("name")] = {.argv = request.at("argv"),
                                   .env = request.value("env", StringMap()),
                                   .cwd = request.value("cwd", "")};
  responder.ok();
}

void Agent::do_forget(Request request, const Responder& responder) {
  remedies_.erase(request.at("name").get<std::string>());
  responder.ok();
}

void Agent::do_undo(Request, const Responder& responder) {
  commands_.kill_all();
  responder.ok({{"ends", run_remedies(kUndoPatience)}});
}

void Agent::do_start(Request request, const Responder& responder) {
  const ChildSpec spec{.argv = request.at("argv"),
                       .env = request.value("env", StringMap()),
                       .cwd = request.value("cwd", "")};
  daemons_.start(request.at("name"), spec, request.value("log", ""), responder);
}

void Agent::do_kill(Request request, const Responder& responder) {
  daemons_.kill(request.at("name"), responder);
}

void Agent::do_stop(Request request, const Responder& responder) {
  daemons_.stop(request.at("name"), milliseconds_of(request, "grace_ms", 5'000), responder);
}

void Agent::do_pause(Request request, const Responder& responder) {
  daemons_.pause(request.at("name"), responder);
}

void Agent::do_resume(Request request, const Responder& responder) {
  daemons_.resume(request.at("name"), responder);
}

void Agent::do_cut(Request request, const Responder& responder) {
  const Strings from = request.at("from");
  const auto absent = hello_["absent"].find("link");
  if (absent != hello_["absent"].end() && !from.empty()) {
    return responder.fail("links cannot be cut here: " + absent->get<std::string>());
  }
  for (const std::string& text : from) {
    if (names_driver(text, responder)) return;
  }
  const auto before = firewall_.dropped();
  if (!before) return responder.fail(before.error().message);
  const auto done = firewall_.cut(from);
  if (!done) return responder.fail(done.error().message);
  auto& unbitten = unbitten_["cut"];
  unbitten.clear();
  for (const std::string& address : firewall_.addresses()) {
    const auto known = before->find(address);
    unbitten[address] = known == before->end() ? 0 : known->second;
  }
  responder.ok({{"installed", firewall_.addresses()}});
  if (!std::exchange(looks_for_bites_, true)) look_for_bites(milliseconds(5));
}

bool Agent::names_driver(const std::string& text, const Responder& responder) const {
  const auto address = normal_address(text);
  if (!address || *address != control_) return false;
  responder.fail(text + " is the driver's own address");
  return true;
}

void Agent::look_for_bites(Nanos wait) {
  loop_.after(wait, [this, wait] {
    for (const auto& [kind, addresses] : unbitten_) {
      if (addresses.empty()) continue;
      if (const auto counters = counters_of(kind)) report_bites(kind, *counters);
    }
    std::erase_if(unbitten_, [](const auto& kind) { return kind.second.empty(); });
    looks_for_bites_ = !unbitten_.empty();
    if (looks_for_bites_) look_for_bites(std::min(wait * 2, milliseconds(100)));
  });
}

Result<std::map<std::string, uint64_t>> Agent::counters_of(const std::string& kind) const {
  if (kind == "cut") return firewall_.dropped();
  if (kind == "disconnect") return disconnects_.destroyed();
  return firewall_.struck(kind);
}

void Agent::report_bites(const std::string& kind, const std::map<std::string, uint64_t>& counters) {
  auto& unbitten = unbitten_[kind];
  for (const auto& [address, packets] : counters) {
    const auto it = unbitten.find(address);
    if (it == unbitten.end() || packets <= it->second) continue;
    const uint64_t count = packets - it->second;
    if (kind == "cut")
      emit({{"event", "bite"}, {"from", address}, {"packets", count}});
    else
      emit({{"event", "struck"}, {"kind", kind}, {"from", address}, {"count", count}});
    unbitten.erase(it);
  }
}

void Agent::do_heal(Request, const Responder& responder) {
  const auto dropped = firewall_.heal();
  if (!dropped) return responder.fail(dropped.error().message);
  unbitten_.erase("cut");
  responder.ok({{"dropped", *dropped}});
}

void Agent::do_delay(Request request, const Responder& responder) {
  std::map<std::string, LinkDelay> links;
  for (const json& link : request.at("links")) {
    const std::string from = link.at("from");
    if (names_driver(from, responder)) return;
    links[from] = {.delay = milliseconds_of(link, "delay_ms", 0),
                   .jitter = milliseconds_of(link, "jitter_ms", 0),
                   .reorder = link.value("reorder", false),
                   .duplicate_percent = std::clamp(link.value("duplicate_percent", 0), 0, 100),
                   .seed = link.value("seed", uint64_t{0})};
  }
  const auto absent = hello_["absent"].find("delay");
  if (absent != hello_["absent"].end() && !links.empty())
    return responder.fail("links cannot be slow here: " + absent->get<std::string>());
  answer(delays_.set(links), responder);
}

void Agent::do_undelay(Request, const Responder& responder) {
  const auto held = delays_.heal();
  if (!held) return responder.fail(held.error().message);
  json links = json::object();
  for (const auto& [from, done] : *held) {
    links[from] = {
        {"packets", done.packets}, {"duplicates", done.duplicates}, {"overtaken", done.overtaken}};
  }
  responder.ok({{"held", std::move(links)}});
}

// Answers where there is none, or none here.
NodeFault* Agent::find_fault(Request request, const Responder& responder) {
  const std::string kind = request.at("kind");
  const auto absent = hello_["absent"].find(kind);
  const auto it = std::find_if(faults_.begin(), faults_.end(),
                               [&](const auto& fault) { return fault->kind() == kind; });
  if (it == faults_.end())
    responder.fail("unknown fault \"" + kind + "\"");
  else if (absent != hello_["absent"].end())
    responder.fail(kind + " is not possible here: " + absent->get<std::string>());
  else
    return it->get();
  return nullptr;
}

void Agent::do_prepare(Request request, const Responder& responder) {
  NodeFault* fault = find_fault(request, responder);
  if (fault == nullptr) return;
  fault->prepare(request.value("settings", StringMap()), [responder](const auto& env) {
    env ? responder.ok({{"env", *env}}) : responder.fail(env.error().message);
  });
}

void Agent::do_fault(Request request, const Responder& responder) {
  if (NodeFault* fault = find_fault(request, responder))
    fault->begin(request.value("settings", StringMap()), request.at("daemon"), telling(responder));
}

void Agent::do_unfault(Request request, const Responder& responder) {
  if (NodeFault* fault = find_fault(request, responder)) fault->end(telling(responder));
}

void Agent::do_look(Request request, const Responder& responder) {
  if (NodeFault* fault = find_fault(request, responder)) fault->look(telling(responder));
}

void Agent::do_break(Request request, const Responder& responder) {
  const LinkFault fault{request.at("kind"),
                        request.value("settings", std::map<std::string, int64_t>())};
  const Strings from = request.at("from");
  if (std::find(std::begin(kLinkFaults), std::end(kLinkFaults), fault.kind) ==
      std::end(kLinkFaults))
    return responder.fail("no link fault: \"" + fault.kind + "\"");
  const auto absent = hello_["absent"].find(fault.kind);
  if (absent != hello_["absent"].end() && !from.empty())
    return responder.fail(fault.kind + " is not possible here: " + absent->get<std::string>());
  for (const std::string& text : from) {
    if (names_driver(text, responder)) return;
  }
  const bool destroys = fault.kind == "disconnect";
  const auto done =
      destroys ? disconnects_.set(from, milliseconds_of(request.value("settings", json::object()),
                                                        "every_ms", 0))
               : firewall_.break_links(fault, from);
  if (!done) return responder.fail(done.error().message);
  auto& unbitten = unbitten_[fault.kind];
  unbitten.clear();
  for (const std::string& text : from) unbitten[*normal_address(text)] = 0;
  responder.ok();
  if (!std::exchange(looks_for_bites_, true)) look_for_bites(milliseconds(5));
}

void Agent::do_mend(Request request, const Responder& responder) {
  const std::string kind = request.at("kind");
  const auto struck = kind == "disconnect"
                          ? Result<std::map<std::string, uint64_t>>(disconnects_.end())
                          : firewall_.mend_links(kind);
  if (!struck) return responder.fail(struck.error().message);
  unbitten_.erase(kind);
  responder.ok({{"struck", *struck}});
}

void Agent::do_probe(Request request, const Responder& responder) {
  const Strings to = request.at("to");
  if (options_.skip.contains("probe")) return responder.ok();
  for (const std::string& address : to) {
    if (!normal_address(address)) return responder.fail("not an address: \"" + address + "\"");
    // One that cannot be sent now is as good as lost: the asker asks again.
    send_probes(
        address, request.value("tcp", false),
        std::clamp<int64_t>(request.value("count", int64_t{1}), 0, 1'000),
        static_cast<size_t>(std::clamp<int64_t>(request.value("bytes", int64_t{5}), 1, 1'400)));
  }
  responder.ok();
}

void Agent::do_observe(Request, const Responder& responder) {
  const auto rules = firewall_.dropped();
  if (!rules) return responder.fail(rules.error().message);
  responder.ok({{"daemons", daemons_.observe()}, {"rules", *rules}});
}

void Agent::do_tail(Request request, const Responder& responder) {
  tails_->add(request.at("name"), request.at("path"), request.value("offset", int64_t{0}));
  responder.ok();
}

void Agent::do_untail(Request request, const Responder& responder) {
  tails_->remove(request.at("name"));
  responder.ok();
}

void Agent::do_fetch(Request request, const Responder& responder) {
  const auto chunk = read_chunk(request.at("path"), request.value("offset", int64_t{0}),
                                bytes_of(request, "max", kFetchChunkBytes));
  if (!chunk) return responder.fail(chunk.error().message);
  responder.ok({{"data", base64_encode(chunk->data)}, {"size", chunk->size}, {"eof", chunk->eof}});
}

void Agent::do_list(Request request, const Responder& responder) {
  const auto listing = list_folder(request.at("path"), kMaxListEntries);
  if (!listing) return responder.fail(listing.error().message);
  json entries = json::array();
  for (const ListEntry& entry : listing->entries) {
    entries.push_back({{"path", entry.path}, {"type", entry.type}, {"bytes", entry.bytes}});
  }
  responder.ok({{"entries", std::move(entries)}, {"cut", listing->cut}});
}

void Agent::do_mkdir(Request request, const Responder& responder) {
  answer(make_folder(options_.data_folder, request.at("path")), responder);
}

void Agent::do_rm(Request request, const Responder& responder) {
  answer(remove_folder(options_.data_folder, request.at("path")), responder);
}

// In a child, since a sync may take as long as the disk likes.
void Agent::do_fsync(Request request, const Responder& responder) {
  const std::string path = request.at("path");
  const size_t bytes = bytes_of(request, "bytes", 4'096);
  const ChildSpec spec{.body = [path, bytes] {
    const auto took = time_fsync(path, bytes);
    const std::string text = took ? std::to_string(*took) : took.error().message;
    return write(took ? STDOUT_FILENO : STDERR_FILENO, text.data(), text.size()) > 0 ? !took.ok()
                                                                                     : 2;
  }};
  const auto started =
      commands_.run(spec, {seconds(60), 4'096, 4'096}, [responder](const CommandResult& result) {
        if (result.timed_out) return responder.fail("fsync did not end within 60 s");
        if (result.exit != ExitStatus{})
          return responder.fail(result.err.empty() ? "fsync " + describe(result.exit) : result.err);
        responder.ok({{"ns", atoll(result.out.c_str())}});
      });
  if (!started) responder.fail(started.error().message);
}

void Agent::do_net(Request request, const Responder& responder) {
  if (!options_.own_network) return responder.fail("this agent lives in the network of its host");
  answer(configure_network(request.at("link"), request.at("name"), request.at("address")),
         responder);
}

void Agent::do_close(Request, const Responder& responder) {
  responder.ok(clean_up());
  end(0, "asked to");
}

}  // namespace assay::agent
