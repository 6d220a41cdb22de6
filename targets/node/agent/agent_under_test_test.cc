// Not tests of their own: the helper of the tests in this folder (agent_under_test.h).
#include "targets/node/agent/agent_under_test.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>

#include <algorithm>

#include "targets/node/agent/protocol.h"

namespace assay::agent {
AgentUnderTest::AgentUnderTest(const Options& options) {
  static int count = 0;
  run_id_ = "test-" + std::to_string(getpid()) + "-" + std::to_string(++count);
  int in[2], out[2];
  if (pipe2(in, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC) != 0) abort();
  in_ = in[1];
  out_ = out[0];
  const bool in_chroot = !options.chroot.empty();
  std::vector<std::string> argv{in_chroot ? "/assay-agent"
                                          : std::string(ASSAY_BIN_DIR) + "/assay-agent"};
  argv.insert(argv.end(), options.args.begin(), options.args.end());
  if (options.own_network) argv.push_back("--own-net");
  if (!options.own_network && !options.links) argv.push_back("--no-links");
  auto env = options.env;
  env.emplace(kRunVariable, run_id_);
  env.emplace(kNodeVariable, options.node);
  pid_ = fork();
  if (pid_ == 0) {
    if ((options.own_network || in_chroot) && !become_namespace_root()) _exit(125);
    if (in_chroot && (chroot(options.chroot.c_str()) != 0 || chdir("/") != 0)) _exit(125);
    dup2(in[0], 0);
    dup2(out[1], 1);
    if (!in_chroot) dup2(open(scratch_.path("stderr").c_str(), O_WRONLY | O_CREAT, 0644), 2);
    for (const auto& [name, value] : env) setenv(name.c_str(), value.c_str(), 1);
    std::vector<char*> words;
    for (auto& word : argv) words.push_back(word.data());
    words.push_back(nullptr);
    execv(words[0], words.data());
    _exit(126);
  }
  close(in[0]);
  close(out[1]);
  hello_ = next([](const json& line) { return line.contains("hello") || line.contains("error"); },
                "hello");
  if (options.greet)
    send_text("{\"hello\":\"assay-agent\",\"protocol\":1,\"control\":\"10.77.0.1\"}\n");
}

AgentUnderTest::~AgentUnderTest() {
  end_input();
  if (pid_ > 0) wait();
  close_output();
}

void AgentUnderTest::send_text(const std::string& text) {
  signal(SIGPIPE, SIG_IGN);
  size_t done = 0;
  while (done < text.size()) {
    // Reads meanwhile: neither side may wait for the other.
    pollfd fds[] = {{in_, POLLOUT, 0}, {out_, POLLIN, 0}};
    if (poll(fds, 2, 10'000) <= 0) return ADD_FAILURE() << "the agent does not read";
    if (fds[1].revents != 0 && !read_more()) return;
    if ((fds[0].revents & POLLERR) != 0) return;
    if ((fds[0].revents & POLLOUT) == 0) continue;
    const ssize_t n = write(in_, text.data() + done, std::min<size_t>(4'096, text.size() - done));
    if (n < 0) return;
    done += static_cast<size_t>(n);
  }
}

int64_t AgentUnderTest::send(json request) {
  request["id"] = next_id_;
  send_text(request.dump() + "\n");
  return next_id_++;
}

json AgentUnderTest::ask(json request) { return reply_to(send(std::move(request))); }

json AgentUnderTest::reply_to(int64_t id) {
  return next([id](const json& line) { return line.value("id", int64_t{0}) == id; },
              "reply " + std::to_string(id));
}

json AgentUnderTest::event(const std::string& kind) {
  return next([&](const json& line) { return line.value("event", "") == kind; }, "event " + kind);
}

std::vector<json> AgentUnderTest::lines_so_far() {
  std::vector<json> lines(unread_.begin(), unread_.end());
  unread_.clear();
  return lines;
}

bool AgentUnderTest::read_more() {
  char buffer[65'536];
  const ssize_t n = read(out_, buffer, sizeof buffer);
  if (n <= 0) return false;
  splitter_.feed(
      {buffer, static_cast<size_t>(n)},
      [this](std::string_view line) { unread_.push_back(json::parse(line)); }, [] {});
  return true;
}

std::optional<json> AgentUnderTest::take(const std::function<bool(const json&)>& wanted) {
  for (auto it = unread_.begin(); it != unread_.end(); ++it) {
    if (!wanted(*it)) continue;
    json line = std::move(*it);
    unread_.erase(it);
    return line;
  }
  return std::nullopt;
}

json AgentUnderTest::next(const std::function<bool(const json&)>& wanted, const std::string& what) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  for (;;) {
    if (auto line = take(wanted)) return *line;
    pollfd fd{out_, POLLIN, 0};
    if (poll(&fd, 1, 100) > 0 && !read_more()) break;
    if (std::chrono::steady_clock::now() > deadline) break;
  }
  ADD_FAILURE() << "no " << what << " came; unread: " << json(unread_).dump() << "; "
                << complaints();
  return json::object();
}

void AgentUnderTest::end_input() {
  if (in_ >= 0) close(in_);
  in_ = -1;
}

void AgentUnderTest::close_output() {
  close(out_);
  out_ = -1;
}

void AgentUnderTest::kill_it() { kill(pid_, SIGKILL); }

int AgentUnderTest::wait() {
  while (read_more()) {
  }
  int status = 0;
  waitpid(pid_, &status, 0);
  pid_ = -1;
  return WIFSIGNALED(status) ? 256 + WTERMSIG(status) : WEXITSTATUS(status);
}

pid_t AgentUnderTest::start_shell(const std::string& name, const std::string& script) {
  const json reply = ask({{"do", "start"},
                          {"name", name},
                          {"argv", {"sh", "-c", script}},
                          {"log", scratch_.path(name)}});
  EXPECT_TRUE(reply.value("ok", false)) << reply;
  return reply.value("pid", -1);
}

}  // namespace assay::agent
