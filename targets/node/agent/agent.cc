#include "targets/node/agent/agent.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <utility>

#include "targets/node/agent/control_group.h"
#include "targets/node/agent/own_net.h"
#include "targets/node/agent/proc_fs.h"
#include "targets/node/agent/protocol.h"

namespace assay::agent {
namespace {

using nlohmann::json;

constexpr size_t kRoomForEvents = 1 << 20;       // above it, log lines wait and bad lines go unsaid
constexpr useconds_t kRemedyPauseUs = 20'000;    // between two looks, and two tries
constexpr size_t kDriverDoesNotRead = 64 << 20;  // above it, the driver counts as gone

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
      delays_(loop_, {.run = options_.run,
                      .node = options_.node,
                      .fresh_network = options_.own_network,
                      .skip_rules = options_.skip.contains("rule"),
                      .on_held =
                          [this](const std::string& from, Nanos held) {
                            emit({{"event", "held"}, {"from", from}, {"us", held.count / 1'000}});
                          },
                      .on_lost =
                          [this](const std::string& why) {
                            emit({{"event", "undelayed"}, {"why", "its queue program: " + why}});
                          }}),
      disconnects_(loop_, options_.skip.contains("rule")),
      commands_(loop_),
      daemons_(loop_, {.run = options_.run,
                       .node = options_.node,
                       .skip_signals = options_.skip.contains("signal"),
                       .emit = [this](json line) { emit(line); },
                       .before_exit_event = [this] { tails_->pump(); },
                       .started =
                           [this](const std::string& name, pid_t pid) {
                             for (const auto& fault : faults_) fault->started(name, pid);
                           }}),
      faults_(make_node_faults({.loop = loop_,
                                .daemons = daemons_,
                                .run = options_.run,
                                .node = options_.node,
                                .data_folder = options_.data_folder,
                                .skip = options_.skip,
                                .lost = [this](const std::string& kind, const std::string& why) {
                                  emit({{"event", "fault-lost"}, {"kind", kind}, {"why", why}});
                                }})) {}

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
  ControlGroup::thaw(options_.run, options_.node);
  hello_["leftovers"] = {{"processes", kill_marked(options_.run, options_.node)}, {"rules", false}};
  const auto note = [this](const char* power, const Result<void>& probed) {
    if (probed)
      hello_["powers"].push_back(power);
    else
      hello_["absent"][power] = probed.error().message;
  };
  note("link", probe_links());
  note("delay", probe_delays());
  probe_faults();
  for (const char* kind : kLinkFaults) {
    const auto absent = hello_["absent"].find("link");
    const bool by_rule = std::string_view(kind) != "disconnect";
    std::string why = by_rule ? firewall_.absent(kind) : "";
    if (!options_.links || (by_rule && absent != hello_["absent"].end())) why = *absent;
    note(kind, why.empty() ? by_rule ? Result<void>() : disconnects_.probe()
                           : Result<void>(environment_error(why)));
  }
  return {};
}

Result<void> Agent::probe_links() {
  if (!options_.links) return environment_error("the network is the host's");
  bool leftover = false;
  const auto probed = firewall_.probe(&leftover);
  hello_["leftovers"]["rules"] = leftover;
  return probed;
}

Result<void> Agent::probe_delays() {
  if (!options_.links) return environment_error("the network is the host's");
  bool leftover = false;
  const auto probed = delays_.probe(&leftover);
  hello_["leftovers"]["rules"] = hello_["leftovers"]["rules"].get<bool>() || leftover;
  return probed;
}

void Agent::probe_faults() {
  hello_["leftovers"]["faults"] = json::array();
  for (const auto& fault : faults_) {
    bool leftover = false;
    Result<void> probed = fault->probe(&leftover);
    if (options_.skip.contains(fault->kind())) probed = environment_error("left out for a test");
    if (leftover) hello_["leftovers"]["faults"].push_back(fault->kind());
    if (probed)
      hello_["powers"].push_back(fault->kind());
    else
      hello_["absent"][fault->kind()] = probed.error().message;
  }
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
    delays_.reaped(pid, exit_status(status));
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
    dispatch(request, responder);
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

void Agent::emit(const json& line) {
  out_.push(line.dump(-1, ' ', false, json::error_handler_t::replace));
}

void Agent::bad_line(const std::string& why) {
  if (out_.bytes() < kRoomForEvents) emit({{"event", "bad-line"}, {"why", why}});
}

json Agent::clean_up() {
  json done = {{"healed", json::array()}};
  if (const auto healed = firewall_.heal()) {
    for (const auto& [address, packets] : *healed) done["healed"].push_back(address);
  } else {
    done["heal_error"] = healed.error().message;
    log("cannot heal: " + healed.error().message);
  }
  disconnects_.end();
  for (const char* kind : kLinkFaults) {
    if (const auto mended = firewall_.mend_links(kind)) {
      for (const auto& [address, packets] : *mended) done["healed"].push_back(address);
    } else {
      done["heal_error"] = mended.error().message;
      log("cannot end " + std::string(kind) + ": " + mended.error().message);
    }
  }
  for (const auto& [address, how] : delays_.links()) done["healed"].push_back(address);
  if (const auto healed = delays_.heal(); !healed) {
    done["heal_error"] = healed.error().message;
    log("cannot undo a delay: " + healed.error().message);
  }
  const auto on_faults = [&](Result<void> (NodeFault::*undo)()) {
    for (const auto& fault : faults_) {
      const Result<void> undone = (fault.get()->*undo)();
      if (undone) continue;
      done["heal_error"] = fault->kind() + ": " + undone.error().message;
      log("cannot undo " + fault->kind() + ": " + undone.error().message);
    }
  };
  on_faults(&NodeFault::heal);
  commands_.kill_all();
  if (!remedies_.empty()) done["remedies"] = run_remedies(kRemedyPatience);
  done["stopped"] = daemons_.kill_all();
  // Orphans become our children: what is left of all descendants shows up here.
  const Nanos deadline = loop_.now() + seconds(3);
  for (;;) {
    reap();
    const auto left = children_of(getpid());
    if (left.empty() || loop_.now() > deadline) break;
    for (pid_t child : left) ::kill(child, SIGKILL);
    usleep(1'000);
  }
  on_faults(&NodeFault::remove);
  if (tails_) tails_->finish();
  return done;
}

// All at once, on daemons that run: what they undo may be something that only a daemon can undo.
// One that fails is tried again, as long as there is time. How each ended: "" where it did what it
// is for; then it is forgotten.
json Agent::run_remedies(Nanos patience) {
  daemons_.wake_all();
  json ends = json::object();
  std::map<std::string, pid_t> running;
  const Nanos deadline = loop_.now() + patience;
  const auto start = [&](const std::string& name) {
    const auto pid = spawn(remedies_.at(name));
    if (!pid) ends[name] = pid.error().message;
    if (pid) running[name] = *pid;
  };
  for (const auto& [name, spec] : remedies_) start(name);
  for (; !running.empty(); usleep(kRemedyPauseUs)) {
    const bool late = loop_.now() > deadline;
    std::vector<std::string> again;
    std::erase_if(running, [&](const auto& one) {
      const auto& [name, pid] = one;
      if (late) ::kill(-pid, SIGKILL);
      int status = 0;
      if (waitpid(pid, &status, late ? 0 : WNOHANG) != pid) return false;
      const ExitStatus exit = exit_status(status);
      const bool killed = late && exit.signal == SIGKILL;
      if (!killed || !ends.contains(name))
        ends[name] = killed ? "did not end in time" : exit == ExitStatus{} ? "" : describe(exit);
      if (ends[name] != "" && !late) again.push_back(name);
      return true;
    });
    for (const std::string& name : again) start(name);
  }
  for (const auto& [name, how] : ends.items()) {
    if (how == "")
      remedies_.erase(name);
    else
      log("cannot undo " + name + ": " + how.get<std::string>());
  }
  return ends;
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
