#include "targets/node/agent/agent.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "targets/node/agent/base64.h"
#include "targets/node/agent/files.h"
#include "targets/node/agent/own_net.h"
#include "targets/node/agent/proc_fs.h"
#include "targets/node/agent/protocol.h"

namespace assay::agent {
namespace {

using nlohmann::json;

constexpr size_t kRoomForEvents = 1 << 20;       // above it, log lines wait and bad lines go unsaid
constexpr size_t kDriverDoesNotRead = 64 << 20;  // above it, the driver counts as gone

using Strings = std::vector<std::string>;
using StringMap = std::map<std::string, std::string>;

Nanos milliseconds_of(const json& request, const char* key, int64_t missing) {
  return milliseconds(std::clamp<int64_t>(request.value(key, missing), 0, 86'400'000));
}

size_t bytes_of(const json& request, const char* key, size_t limit) {
  return static_cast<size_t>(
      std::clamp<int64_t>(request.value(key, int64_t(limit)), 0, int64_t(limit)));
}

// A datagram to the discard port: only the drop rule on its way cares about it.
bool send_datagram(const std::string& address) {
  sockaddr_in v4{.sin_family = AF_INET, .sin_port = htons(9)};
  sockaddr_in6 v6{.sin6_family = AF_INET6, .sin6_port = htons(9)};
  const bool is_v4 = inet_pton(AF_INET, address.c_str(), &v4.sin_addr) == 1;
  if (!is_v4 && inet_pton(AF_INET6, address.c_str(), &v6.sin6_addr) != 1) return false;
  const int fd = socket(is_v4 ? AF_INET : AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return false;
  const auto* to =
      is_v4 ? reinterpret_cast<const sockaddr*>(&v4) : reinterpret_cast<const sockaddr*>(&v6);
  const bool sent = sendto(fd, "assay", 5, 0, to, is_v4 ? sizeof v4 : sizeof v6) == 5;
  close(fd);
  return sent;
}

// Descriptors 0 to 2 are open from now on, so that no pipe of ours gets their numbers.
void open_standard_descriptors() {
  for (int fd; (fd = open("/dev/null", O_RDWR)) >= 0;) {
    if (fd > 2) {
      close(fd);
      return;
    }
  }
}

}  // namespace

Agent::Agent(AgentOptions options)
    : options_(std::move(options)),
      in_flags_((open_standard_descriptors(), STDIN_FILENO)),
      out_flags_(STDOUT_FILENO),
      out_(STDOUT_FILENO),
      in_(kMaxRequestBytes),
      firewall_({options_.run, options_.node, options_.skip.contains("rule")}),
      commands_(loop_),
      daemons_(loop_, {.skip_signals = options_.skip.contains("signal"),
                       .emit = [this](json line) { emit(line); },
                       .before_exit_event = [this] { tails_->pump(); }}) {}

Agent::~Agent() {
  if (signals_ >= 0) close(signals_);
}

int Agent::run() {
  if (const auto ready = set_up(); !ready) {
    emit({{"error", ready.error().message}});
    out_.flush_for(1'000);
    log(ready.error().message);
    return 1;
  }
  say_hello();
  while (!ended_) {
    if (out_.bytes() > 0) loop_.watch(STDOUT_FILENO, POLLOUT, [this] { out_.flush(); });
    loop_.run_once(seconds(1));
    out_.flush();
    if (out_.bytes() == 0) loop_.unwatch(STDOUT_FILENO);
    if (ended_) break;
    if (out_.broken())
      end(3, "nobody reads its output any more");
    else if (out_.bytes() > kDriverDoesNotRead)
      end(3, "its driver does not read");
  }
  out_.flush_for(1'000);
  return exit_code_;
}

Result<void> Agent::set_up() {
  setsid();  // the terminal's Ctrl-C is for the driver alone; fails where it leads a session
             // already
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  sigset_t handled;
  sigemptyset(&handled);
  for (int number : {SIGCHLD, SIGTERM, SIGINT, SIGHUP}) sigaddset(&handled, number);
  sigprocmask(SIG_BLOCK, &handled, nullptr);
  signal(SIGPIPE, SIG_IGN);
  signals_ = signalfd(-1, &handled, SFD_CLOEXEC | SFD_NONBLOCK);
  if (signals_ < 0) return environment_error(std::string("signalfd: ") + strerror(errno));
  if (options_.own_network) {
    if (const auto left = leave_network(); !left) return left;
  }
  hello_ = {{"hello", kHello},
            {"protocol", kProtocol},
            {"version", ASSAY_VERSION},
            {"run", options_.run},
            {"node", options_.node},
            {"pid", getpid()},
            {"powers", json::array({"process"})},
            {"absent", json::object()}};
  hello_["leftovers"] = {{"processes", kill_marked(options_.run, options_.node)}, {"rules", false}};
  if (const auto link = probe_links())
    hello_["powers"].push_back("link");
  else
    hello_["absent"]["link"] = link.error().message;
  return {};
}

Result<void> Agent::probe_links() {
  if (!options_.links) return environment_error("the network is the host's");
  bool leftover = false;
  const auto probed = firewall_.probe(&leftover);
  hello_["leftovers"]["rules"] = leftover;
  return probed;
}

void Agent::say_hello() {
  tails_ = std::make_unique<Tails>(
      loop_, [this](const json& line) { emit(line); },
      [this] { return out_.bytes() < kRoomForEvents; });
  emit(hello_);
  last_input_ = loop_.now();
  loop_.watch(STDIN_FILENO, POLLIN, [this] { read_input(); });
  loop_.watch(signals_, POLLIN, [this] { read_signals(); });
  check_lifeline();
}

void Agent::read_input() {
  char buffer[65'536];
  const ssize_t n = read(STDIN_FILENO, buffer, sizeof buffer);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (n <= 0) return end(3, "its input ended");
  last_input_ = loop_.now();
  in_.feed(
      {buffer, static_cast<size_t>(n)}, [this](std::string_view line) { on_line(line); },
      [this] { bad_line("a line of more than " + std::to_string(kMaxRequestBytes) + " bytes"); });
}

void Agent::read_signals() {
  signalfd_siginfo info;
  while (read(signals_, &info, sizeof info) == sizeof info) {
    if (info.ssi_signo != SIGCHLD) {
      return end(3, std::string("it got signal ") + std::to_string(info.ssi_signo));
    }
  }
  reap();
}

void Agent::reap() {
  siginfo_t info{};
  while (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid != 0) {
    const pid_t pid = info.si_pid;
    commands_.ending(pid);
    int status = 0;
    if (waitpid(pid, &status, 0) != pid) break;
    commands_.reaped(pid, exit_status(status));
    daemons_.reaped(pid, exit_status(status));
    info = {};
  }
  loop_.recheck();
}

void Agent::check_lifeline() {
  if (!options_.beat) return;
  loop_.after(milliseconds(250), [this] {
    // After a time in which nobody ran at all, what the driver sent meanwhile is still unread.
    pollfd input{STDIN_FILENO, POLLIN, 0};
    if (poll(&input, 1, 0) == 0 && loop_.now() - last_input_ > kLifeline) {
      return end(3, "no input for " + std::to_string(to_ms(kLifeline) / 1'000) + " s");
    }
    check_lifeline();
  });
}

void Agent::on_line(std::string_view line) {
  if (ended_) return;
  const json request = json::parse(line, nullptr, false);
  if (!request.is_object()) return bad_line("not a JSON object");
  if (!greeted_) return on_hello(request);
  const auto id = request.find("id");
  if (id == request.end() || !id->is_number_integer()) return bad_line("no integer id");
  const Responder responder(id->get<int64_t>(), [this](const json& reply) { emit(reply); });
  try {
    dispatch(request.at("do").get<std::string>(), request, responder);
  } catch (const json::exception& e) {
    responder.fail(std::string("malformed request: ") + e.what());
  }
}

void Agent::on_hello(Request hello) {
  const auto text = [&](const char* key) {
    const auto it = hello.find(key);
    return it != hello.end() && it->is_string() ? it->get<std::string>() : std::string();
  };
  const auto protocol = hello.find("protocol");
  if (text("hello") != kHello || protocol == hello.end() || *protocol != kProtocol) {
    bad_line("the first line must be {\"hello\":\"" + std::string(kHello) +
             "\",\"protocol\":" + std::to_string(kProtocol) + "}");
    return end(1, "its driver does not speak protocol " + std::to_string(kProtocol));
  }
  greeted_ = true;
  if (const auto control = normal_address(text("control"))) control_ = *control;
}

void Agent::dispatch(const std::string& word, Request request, const Responder& responder) {
  const auto name = [&] { return request.at("name").get<std::string>(); };
  if (word == "beat")
    responder.ok();
  else if (word == "run")
    do_run(request, responder);
  else if (word == "start")
    do_start(request, responder);
  else if (word == "kill")
    daemons_.kill(name(), responder);
  else if (word == "stop")
    daemons_.stop(name(), milliseconds_of(request, "grace_ms", 5'000), responder);
  else if (word == "pause")
    daemons_.pause(name(), responder);
  else if (word == "resume")
    daemons_.resume(name(), responder);
  else if (word == "cut")
    do_cut(request, responder);
  else if (word == "heal") {
    const auto from = request.value("from", Strings());
    const auto dropped = firewall_.heal(from);
    if (!dropped) return responder.fail(dropped.error().message);
    for (const auto& [address, packets] : *dropped) unbitten_.erase(address);
    responder.ok({{"dropped", *dropped}});
  } else if (word == "probe")
    do_probe(request, responder);
  else if (word == "observe") {
    const auto rules = firewall_.dropped();
    if (!rules) return responder.fail(rules.error().message);
    responder.ok({{"daemons", daemons_.observe()}, {"rules", *rules}});
  } else if (word == "tail") {
    tails_->add(name(), request.at("path"), request.value("offset", int64_t{0}));
    responder.ok();
  } else if (word == "untail") {
    tails_->remove(name());
    responder.ok();
  } else if (word == "fsync")
    do_fsync(request, responder);
  else if (word == "net") {
    if (!options_.own_network) return responder.fail("this agent lives in the network of its host");
    const auto done = configure_network(request.at("link"), name(), request.at("address"));
    if (!done) return responder.fail(done.error().message);
    responder.ok();
  } else if (word == "close") {
    responder.ok(clean_up());
    end(0, "asked to");
  } else {
    do_files(word, request, responder);
  }
}

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

void Agent::do_start(Request request, const Responder& responder) {
  const ChildSpec spec{.argv = request.at("argv"),
                       .env = request.value("env", StringMap()),
                       .cwd = request.value("cwd", "")};
  daemons_.start(request.at("name"), spec, request.value("log", ""), responder);
}

void Agent::do_cut(Request request, const Responder& responder) {
  if (const auto absent = hello_["absent"].find("link"); absent != hello_["absent"].end()) {
    return responder.fail("links cannot be cut here: " + absent->get<std::string>());
  }
  const Strings from = request.at("from");
  for (const std::string& text : from) {
    const auto address = normal_address(text);
    if (address && *address == control_)
      return responder.fail(text + " is the driver's own address");
  }
  const auto before = firewall_.addresses();
  const auto done = firewall_.cut(from);
  if (!done) return responder.fail(done.error().message);
  const auto& now = firewall_.addresses();
  std::set_difference(now.begin(), now.end(), before.begin(), before.end(),
                      std::inserter(unbitten_, unbitten_.end()));
  responder.ok({{"installed", now}});
  if (!std::exchange(looks_for_bites_, true)) look_for_bites(milliseconds(5));
}

void Agent::look_for_bites(Nanos wait) {
  loop_.after(wait, [this, wait] {
    if (!unbitten_.empty()) {
      if (const auto counters = firewall_.dropped()) report_bites(*counters);
    }
    looks_for_bites_ = !unbitten_.empty();
    if (looks_for_bites_) look_for_bites(std::min(wait * 2, milliseconds(100)));
  });
}

void Agent::report_bites(const std::map<std::string, uint64_t>& counters) {
  for (const auto& [address, packets] : counters) {
    if (packets == 0 || unbitten_.erase(address) == 0) continue;
    emit({{"event", "bite"}, {"from", address}, {"packets", packets}});
  }
}

void Agent::do_probe(Request request, const Responder& responder) {
  const Strings to = request.at("to");
  if (options_.skip.contains("probe")) return responder.ok();
  for (const std::string& address : to) {
    if (!normal_address(address)) return responder.fail("not an address: \"" + address + "\"");
    send_datagram(address);  // one that cannot be sent now is as good as lost: the asker asks again
  }
  responder.ok();
}

void Agent::do_files(const std::string& word, Request request, const Responder& responder) {
  if (word != "fetch" && word != "list" && word != "mkdir" && word != "rm") {
    return responder.fail("unknown request \"" + word + "\"");
  }
  const std::string path = request.at("path");
  if (word == "fetch") {
    const auto chunk = read_chunk(path, request.value("offset", int64_t{0}),
                                  bytes_of(request, "max", kFetchChunkBytes));
    if (!chunk) return responder.fail(chunk.error().message);
    responder.ok(
        {{"data", base64_encode(chunk->data)}, {"size", chunk->size}, {"eof", chunk->eof}});
  } else if (word == "list") {
    const auto listing = list_folder(path, kMaxListEntries);
    if (!listing) return responder.fail(listing.error().message);
    json entries = json::array();
    for (const ListEntry& e : listing->entries)
      entries.push_back({{"path", e.path}, {"type", e.type}, {"bytes", e.bytes}});
    responder.ok({{"entries", std::move(entries)}, {"cut", listing->cut}});
  } else {
    const auto done = word == "mkdir" ? make_folder(options_.data_folder, path)
                                      : remove_folder(options_.data_folder, path);
    if (!done) return responder.fail(done.error().message);
    responder.ok();
  }
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

void Agent::emit(const json& line) {
  out_.push(line.dump(-1, ' ', false, json::error_handler_t::replace));
}

void Agent::bad_line(const std::string& why) {
  if (out_.bytes() < kRoomForEvents) emit({{"event", "bad-line"}, {"why", why}});
}

json Agent::clean_up() {
  json done = {{"healed", json::array()}};
  if (const auto healed = firewall_.heal({})) {
    for (const auto& [address, packets] : *healed) done["healed"].push_back(address);
  } else {
    done["heal_error"] = healed.error().message;
    log("cannot heal: " + healed.error().message);
  }
  done["stopped"] = daemons_.kill_all();
  commands_.kill_all();
  // Orphans become our children: what is left of all descendants shows up here.
  const Nanos deadline = loop_.now() + seconds(3);
  for (;;) {
    reap();
    const auto left = children_of(getpid());
    if (left.empty() || loop_.now() > deadline) break;
    for (pid_t child : left) ::kill(child, SIGKILL);
    usleep(1'000);
  }
  if (tails_) tails_->finish();
  return done;
}

void Agent::end(int code, const std::string& why) {
  if (std::exchange(ended_, true)) return;
  exit_code_ = code;
  if (code == 0) return;
  json last = clean_up();
  const std::string summary = why + ": healed " + std::to_string(last["healed"].size()) +
                              " links, stopped " + std::to_string(last["stopped"].get<int>()) +
                              " daemons";
  log(summary);
  last.update({{"event", "self-heal"}, {"why", why}});
  emit(last);
}

void Agent::log(const std::string& text) const {
  const std::string line =
      "assay-agent " + options_.node + " of " + options_.run + ": " + text + "\n";
  if (write(STDERR_FILENO, line.data(), line.size()) < 0 && options_.log_path.empty()) return;
  const int fd = open(options_.log_path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (fd < 0) return;
  if (write(fd, line.data(), line.size()) < 0) errno = 0;
  close(fd);
}

}  // namespace assay::agent
