// Nodes on this machine, with real agents: in the host's network, and in a private world.
#include "targets/node/local_node.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/socket.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "targets/asio/testing_loop.h"
#include "targets/node/agent/proc_fs.h"
#include "targets/node/agent/protocol.h"
#include "targets/node/agent/test_support.h"
#include "targets/node/links.h"
#include "targets/node/private_net.h"

namespace assay {
namespace {

using agent::process_runs;

constexpr char kAgent[] = ASSAY_BIN_DIR "/assay-agent";

// Nodes and the loop that drives them.
class Stage {
 public:
  explicit Stage(bool is_private) : is_private_(is_private) {
    static int count = 0;
    run_id = "node-test-" + std::to_string(getpid()) + "-" + std::to_string(++count);
  }
  ~Stage() {
    for (auto& node : nodes) {
      if (node) (void)wait<void>([&](auto done) { node->close(done); });
    }
  }

  LocalNodeOptions options(int index) {
    return {.index = index,
            .name = "n" + std::to_string(index + 1),
            .run_id = run_id,
            .agent_path = kAgent,
            .data_folder = folder.path("data"),
            .agent_log = folder.path("agent.log"),
            .private_network = is_private_};
  }
  template <typename T>
  Result<T> wait(const std::function<void(Node::Done<T>)>& operation) {
    std::optional<Result<T>> result;
    operation([&](Result<T> r) { result = std::move(r); });
    EXPECT_FALSE(result) << "done was called inside the call";
    if (!loop.run_until([&] { return result.has_value(); }))
      return environment_error("an operation did not end");
    return std::move(*result);
  }
  Result<std::unique_ptr<Node>> start(const LocalNodeOptions& options) {
    return wait<std::unique_ptr<Node>>(
        [&](auto done) { start_local_node(loop.context(), loop, options, done); });
  }
  // Brings up the next node; its events are noted.
  Node& add(std::map<std::string, std::string> env = {}) {
    const size_t i = nodes.size();
    LocalNodeOptions wanted = options(static_cast<int>(i));
    wanted.env = std::move(env);
    auto node = start(wanted);
    EXPECT_TRUE(node.ok()) << node.error().message;
    if (!node) abort();
    nodes.push_back(std::move(*node));
    nodes.back()->set_events(
        {.on_exit =
             [this](const std::string& daemon, int, ProcessEnd end, bool asked) {
               exits.push_back(daemon + " " + std::to_string(end.code) + " " +
                               std::to_string(end.signal) + (asked ? " asked" : ""));
             },
         .on_lost =
             [this, i](const Error& why) {
               lost.push_back("n" + std::to_string(i + 1) + ": " + why.message);
             }});
    return *nodes.back();
  }
  pid_t start_shell(Node& node, const std::string& script) {
    const DaemonSpec spec{
        .name = "d", .argv = {"sh", "-c", script}, .log_path = folder.path(node.name() + ".log")};
    const auto pid = wait<int>([&](auto done) { node.start(spec, done); });
    EXPECT_TRUE(pid.ok());
    return pid ? *pid : -1;
  }

  agent::ScratchFolder folder;
  std::string run_id;
  TestingLoop loop;
  std::vector<std::unique_ptr<Node>> nodes;
  std::vector<std::string> exits, lost;

 private:
  bool is_private_;
};

TEST(LocalNode, StartsKillsPausesAndReportsWhatWasSeen) {
  Stage stage(false);
  Node& node = stage.add();
  EXPECT_EQ(node.address(), "127.0.0.1");
  const pid_t pid = stage.start_shell(node, "echo begun; while :; do sleep 0.01; done");
  EXPECT_TRUE(process_runs(pid));
  std::vector<TailedLine> lines;
  node.tail(stage.folder.path("n1.log"), [&](const TailedLine& line) { lines.push_back(line); });
  ASSERT_TRUE(stage.loop.run_until([&] { return !lines.empty(); }));
  EXPECT_EQ(lines[0].text, "begun");
  EXPECT_GT(lines[0].at, Nanos{0});
  EXPECT_LE(lines[0].at, stage.loop.now());

  const auto paused = stage.wait<PauseReport>([&](auto done) { node.pause("d", done); });
  ASSERT_TRUE(paused.ok());
  EXPECT_GE(paused->threads, 1);
  const auto seen = stage.wait<NodeObservation>([&](auto done) { node.observe(done); });
  EXPECT_EQ(seen->daemons.at(0).stopped_threads, paused->threads);
  const auto resumed = stage.wait<ResumeReport>([&](auto done) { node.resume("d", done); });
  EXPECT_TRUE(resumed->held) << resumed->why;

  const auto killed = stage.wait<KillReport>([&](auto done) { node.kill("d", done); });
  EXPECT_TRUE(killed->was_running);
  EXPECT_EQ(killed->end.signal, SIGKILL);
  EXPECT_FALSE(process_runs(pid));
  EXPECT_EQ(stage.exits, std::vector<std::string>{"d 0 9 asked"});
  stage.start_shell(node, "exit 4");
  ASSERT_TRUE(stage.loop.run_until([&] { return stage.exits.size() == 2; }));
  EXPECT_EQ(stage.exits[1], "d 4 0");
  stage.start_shell(node, "trap 'exit 5' TERM; echo ready; while :; do sleep 0.01; done");
  ASSERT_TRUE(stage.loop.run_until([&] { return lines.back().text == "ready"; }));
  const auto stopped = stage.wait<KillReport>([&](auto done) { node.stop("d", seconds(5), done); });
  EXPECT_EQ(stopped->end.code, 5);
  EXPECT_FALSE(stopped->forced);
}

TEST(LocalNode, RunsCommandsAndMovesFiles) {
  Stage stage(false);
  Node& node = stage.add();
  const auto output = stage.wait<CommandOutput>([&](auto done) {
    node.run({.argv = {"sh", "-c", "cat; echo $X >&2; exit 3"}, .env = {{"X", "y"}}, .input = "in"},
             done);
  });
  EXPECT_EQ(output->out, "in");
  EXPECT_EQ(output->err, "y\n");
  EXPECT_EQ(output->end.code, 3);
  ASSERT_TRUE(stage.wait<void>([&](auto done) { node.make_folder("a/b", done); }).ok());
  std::string bytes;
  for (int i = 0; i < 1'000'000; ++i) bytes += static_cast<char>(i % 251);
  stage.folder.write("data/a/b/file", bytes);
  EXPECT_EQ(stage
                .wait<FileContent>([&](auto done) {
                  node.fetch(stage.folder.path("data/a/b/file"), 1 << 30, done);
                })
                ->bytes,
            bytes);
  const auto entries = stage.wait<std::vector<FileEntry>>(
      [&](auto done) { node.list(stage.folder.path("data"), done); });
  EXPECT_TRUE(std::any_of(entries->begin(), entries->end(), [](const FileEntry& e) {
    return e.path == "a/b/file" && e.bytes == 1'000'000;
  }));
  EXPECT_GT(
      *stage.wait<Nanos>([&](auto done) { node.measure_fsync(stage.folder.path("data"), done); }),
      Nanos{0});
  ASSERT_TRUE(stage.wait<void>([&](auto done) { node.remove_folder("a", done); }).ok());
  EXPECT_FALSE(std::filesystem::exists(stage.folder.path("data/a")));
}

TEST(LocalNode, InTheHostsNetworkCutsAreRefusedAndHealingIsHarmless) {
  Stage stage(false);
  Node& node = stage.add();
  EXPECT_FALSE(node.powers().cut);
  const auto cut = stage.wait<void>([&](auto done) { node.cut({"10.0.0.1"}, done); });
  EXPECT_NE(cut.error().message.find("host"), std::string::npos);
  EXPECT_TRUE(
      (stage.wait<std::map<std::string, uint64_t>>([&](auto done) { node.heal(done); }).ok()));
  EXPECT_TRUE(stage.wait<void>([&](auto done) { node.cut({}, done); }).ok());
}

TEST(LocalNode, AProgramThatIsNoAgentIsAnErrorThatSaysSo) {
  Stage stage(false);
  const std::pair<std::string, const char*> rows[] = {
      {stage.folder.path("nothing"), "No such file"},
      {stage.folder.path(), "annot run"},
      {"/bin/true", "exited with 0"},
      {"/bin/cat", ""},
  };
  for (const auto& [path, says] : rows) {
    LocalNodeOptions options = stage.options(0);
    options.agent_path = path;
    options.data_folder.clear();
    const auto node = stage.start(options);
    ASSERT_FALSE(node.ok()) << path;
    EXPECT_NE(node.error().message.find(says), std::string::npos) << node.error().message;
  }
}

std::set<std::string> pipes_of(pid_t pid) {
  std::set<std::string> pipes;
  std::error_code gone;
  for (const auto& entry :
       std::filesystem::directory_iterator("/proc/" + std::to_string(pid) + "/fd", gone)) {
    const std::string target = std::filesystem::read_symlink(entry.path(), gone);
    if (target.starts_with("pipe:")) pipes.insert(target);
  }
  return pipes;
}

// Else one agent would hold the lifeline of another open.
TEST(LocalNode, NoAgentAndNoDaemonInheritsThePipesOfAnAgent) {
  Stage stage(false);
  std::vector<std::pair<pid_t, std::set<std::string>>> agents;
  std::vector<pid_t> daemons;
  for (int i = 0; i < 3; ++i) {
    Node& node = stage.add();
    agents.emplace_back(node.agent_pid(), pipes_of(node.agent_pid()));
    EXPECT_EQ(agents.back().second.size(), 2u);
    daemons.push_back(stage.start_shell(node, "exec sleep 1000"));
  }
  std::set<std::string> all;
  for (const auto& [pid, pipes] : agents) {
    EXPECT_EQ(pipes_of(pid), pipes);
    for (const std::string& pipe : pipes)
      EXPECT_TRUE(all.insert(pipe).second) << pipe << " is shared";
  }
  for (pid_t daemon : daemons) EXPECT_TRUE(pipes_of(daemon).empty());
}

TEST(LocalNode, EndsEverythingWhenTheDriverLetsGo) {
  Stage stage(false);
  Node& node = stage.add();
  const pid_t daemon = stage.start_shell(node, "sleep 1000"), agent = node.agent_pid();
  stage.nodes.clear();
  EXPECT_TRUE(stage.loop.run_until([&] { return !process_runs(daemon) && !process_runs(agent); }));
  EXPECT_NE(stage.folder.read("agent.log").find("its input ended"), std::string::npos);
}

TEST(LocalNode, BeatsKeepAnAgentAliveAndADriverThatStandsStillLosesIt) {
  Stage stage(false);
  const pid_t daemon = stage.start_shell(stage.add(), "sleep 1000");
  stage.loop.run_until([] { return false; }, std::chrono::milliseconds(6'500));
  EXPECT_TRUE(process_runs(daemon));
  EXPECT_TRUE(stage.lost.empty());
  std::this_thread::sleep_for(std::chrono::milliseconds(6'000));
  ASSERT_TRUE(stage.loop.run_until([&] { return !stage.lost.empty(); }));
  EXPECT_EQ(stage.lost, std::vector<std::string>{"n1: healed by itself: no input for 5 s"});
  EXPECT_FALSE(process_runs(daemon));
}

TEST(LocalNode, WithoutBeatsAnAgentWaitsForEver) {
  Stage stage(false);
  LocalNodeOptions options = stage.options(0);
  options.beat = false;
  auto node = stage.start(options);
  ASSERT_TRUE(node.ok());
  std::this_thread::sleep_for(std::chrono::milliseconds(6'000));
  EXPECT_TRUE(stage.wait<NodeObservation>([&](auto done) { (*node)->observe(done); }).ok());
}

TEST(LocalNode, ALostAgentIsReportedWhenNothingOfItIsLeft) {
  Stage stage(false);
  Node& node = stage.add();
  const std::string child = stage.folder.path("child");
  const pid_t daemon = stage.start_shell(node, "setsid sleep 1000 & echo $! >" + child + "; wait");
  ASSERT_TRUE(stage.loop.run_until([&] { return stage.folder.read("child").ends_with("\n"); }));
  const pid_t loner = std::stoi(stage.folder.read("child"));
  bool failed = false;
  node.pause("d", [&](const auto& result) { failed = !result.ok(); });
  kill(node.agent_pid(), SIGKILL);
  ASSERT_TRUE(stage.loop.run_until([&] { return !stage.lost.empty(); }));
  EXPECT_EQ(stage.lost, std::vector<std::string>{"n1: killed by signal 9 (Killed)"});
  EXPECT_TRUE(agent::eventually([&] { return !process_runs(daemon); }));
  EXPECT_FALSE(process_runs(loner));
  EXPECT_FALSE(node.agent_pid() != 0 && process_runs(node.agent_pid()));
}

// --- In a private world. Its driver is a forked child, since unshare comes before all threads.

class PrivateNodes : public testing::Test {
 protected:
  static void in_private_world(const std::function<void(Stage&)>& body) {
    if (!agent::namespaces_work()) GTEST_SKIP() << "no namespaces for this user";
    fflush(nullptr);
    const pid_t child = fork();
    if (child == 0) {
      const auto entered = enter_private_world("private-nodes-test");
      EXPECT_TRUE(entered.ok()) << entered.error().message;
      if (entered) {
        Stage stage(true);
        body(stage);
      }
      fflush(nullptr);
      _exit(testing::Test::HasFailure() ? 1 : 0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
};

// A UDP socket that lives in the network of a node.
class NodeSocket {
 public:
  explicit NodeSocket(const Node& node) : address_(node.address()) {
    const int home = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
    const int there = open(("/proc/" + std::to_string(node.agent_pid()) + "/ns/net").c_str(),
                           O_RDONLY | O_CLOEXEC);
    EXPECT_EQ(setns(there, CLONE_NEWNET), 0);
    fd_ = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    const sockaddr_in own = place();
    EXPECT_EQ(bind(fd_, reinterpret_cast<const sockaddr*>(&own), sizeof own), 0);
    EXPECT_EQ(setns(home, CLONE_NEWNET), 0);
    close(home);
    close(there);
  }
  ~NodeSocket() { close(fd_); }

  // Sends one datagram and waits for it at the other end: long where it must come, briefly where
  // it must not.
  bool reaches(const NodeSocket& other, int patience_ms) const {
    const std::string text = "n" + std::to_string(++count_);
    if (!send(text, other)) return false;
    pollfd readable{other.fd_, POLLIN, 0};
    while (poll(&readable, 1, patience_ms) == 1) {
      char buffer[64];
      const ssize_t n = recv(other.fd_, buffer, sizeof buffer, 0);
      if (std::string(buffer, size_t(n)) == text) return true;
    }
    return false;
  }

  // How long the next datagram is on its way; kNever where it does not come.
  Nanos way_to(const NodeSocket& other) const {
    const auto start = std::chrono::steady_clock::now();
    if (!reaches(other, 5'000)) return kNever;
    return Nanos{std::chrono::nanoseconds(std::chrono::steady_clock::now() - start).count()};
  }
  // At most as many as the buffer of a socket holds.
  // The numbers from 0 to count - 1 as they come, until every one has, and then until none comes.
  std::vector<int> arrivals(const NodeSocket& other, int count) const {
    for (int i = 0; i < count; ++i) EXPECT_TRUE(send(std::to_string(i), other));
    std::vector<int> came;
    std::set<int> missing;
    for (int i = 0; i < count; ++i) missing.insert(i);
    pollfd readable{other.fd_, POLLIN, 0};
    while (poll(&readable, 1, missing.empty() ? 300 : 5'000) == 1) {
      char buffer[64];
      const ssize_t n = recv(other.fd_, buffer, sizeof buffer, 0);
      came.push_back(std::stoi(std::string(buffer, size_t(n))));
      missing.erase(came.back());
    }
    EXPECT_TRUE(missing.empty()) << missing.size() << " did not come";
    return came;
  }

  // How many of so many datagrams come.
  int that_come(const NodeSocket& other, int count, size_t bytes = 10) const {
    for (int i = 0; i < count; ++i) EXPECT_TRUE(send(std::string(bytes, 'a'), other));
    int came = 0;
    pollfd readable{other.fd_, POLLIN, 0};
    for (char buffer[2'000]; came < count && poll(&readable, 1, 300) == 1; ++came)
      EXPECT_EQ(recv(other.fd_, buffer, sizeof buffer, 0), static_cast<ssize_t>(bytes));
    return came;
  }

  // Sends all, and says what has come when as many have, in that order.
  std::vector<std::string> carried(const NodeSocket& other,
                                   const std::vector<std::string>& texts) const {
    for (const std::string& text : texts) EXPECT_TRUE(send(text, other));
    std::vector<std::string> came;
    pollfd readable{other.fd_, POLLIN, 0};
    while (came.size() < texts.size() && poll(&readable, 1, 5'000) == 1) {
      std::string buffer(4'096, '\0');
      buffer.resize(static_cast<size_t>(recv(other.fd_, buffer.data(), buffer.size(), 0)));
      came.push_back(buffer);
    }
    return came;
  }

 private:
  bool send(const std::string& text, const NodeSocket& other) const {
    const sockaddr_in to = other.place();
    return sendto(fd_, text.data(), text.size(), 0, reinterpret_cast<const sockaddr*>(&to),
                  sizeof to) >= 0;
  }
  sockaddr_in place() const {
    sockaddr_in place{.sin_family = AF_INET, .sin_port = htons(4'000)};
    inet_pton(AF_INET, address_.c_str(), &place.sin_addr);
    return place;
  }
  std::string address_;
  int fd_ = -1;
  static inline int count_ = 0;
};

constexpr int kMustCome = 5'000, kMustNotCome = 100;

TEST_F(PrivateNodes, ACutBitesOneWayAndHeals) {
  in_private_world([](Stage& stage) {
    Node &first = stage.add(), &second = stage.add(), &third = stage.add();
    EXPECT_EQ(second.address(), "10.77.0.12");
    EXPECT_TRUE(second.powers().cut);
    const NodeSocket one(first), two(second), three(third);
    EXPECT_TRUE(one.reaches(two, kMustCome));
    EXPECT_TRUE(two.reaches(one, kMustCome));
    const auto cut = [&](const std::vector<DirectedLink>& links) {
      return *stage.wait<LinkCutReport>([&](auto done) {
        cut_links(stage.loop, {&first, &second, &third}, links, seconds(5), done);
      });
    };
    const LinkCutReport report = cut({{0, 1}});
    EXPECT_TRUE(report.installed && report.bit) << report.evidence;
    EXPECT_FALSE(one.reaches(two, kMustNotCome));
    EXPECT_TRUE(two.reaches(one, kMustCome));
    EXPECT_TRUE(three.reaches(two, kMustCome));
    EXPECT_TRUE(one.reaches(three, kMustCome));
    EXPECT_TRUE(cut({{1, 0}, {2, 1}}).bit);
    EXPECT_TRUE(one.reaches(two, kMustCome)) << "an earlier cut is replaced";
    EXPECT_FALSE(two.reaches(one, kMustNotCome));
    EXPECT_FALSE(three.reaches(two, kMustNotCome));
    EXPECT_TRUE(cut({}).bit);
    for (const auto* from : {&one, &two, &three}) {
      for (const auto* to : {&one, &two, &three}) EXPECT_TRUE(from->reaches(*to, kMustCome));
    }
  });
}

TEST_F(PrivateNodes, HealSaysWhatWasDropped) {
  in_private_world([](Stage& stage) {
    Node &first = stage.add(), &second = stage.add();
    ASSERT_TRUE(stage
                    .wait<LinkCutReport>([&](auto done) {
                      cut_links(stage.loop, {&first, &second}, {{0, 1}}, seconds(5), done);
                    })
                    ->bit);
    const auto dropped =
        stage.wait<std::map<std::string, uint64_t>>([&](auto done) { second.heal(done); });
    EXPECT_GE(dropped->at("10.77.0.11"), 1u);
    const NodeSocket one(first), two(second);
    EXPECT_TRUE(one.reaches(two, kMustCome));
  });
}

TEST_F(PrivateNodes, ARuleThatIsSecretlyNotInstalledIsNoticed) {
  in_private_world([](Stage& stage) {
    Node &first = stage.add(), &second = stage.add({{agent::kSkipVariable, "rule"}});
    const auto report = stage.wait<LinkCutReport>([&](auto done) {
      cut_links(stage.loop, {&first, &second}, {{0, 1}}, seconds(1), done);
    });
    ASSERT_FALSE(report.ok());
    EXPECT_NE(report.error().message.find("n2: the rule is not there"), std::string::npos)
        << report.error().message;
  });
}

TEST_F(PrivateNodes, ARuleThatDropsNothingDoesNotCountAsACut) {
  in_private_world([](Stage& stage) {
    Node &first = stage.add({{agent::kSkipVariable, "probe"}}), &second = stage.add();
    const auto report = stage.wait<LinkCutReport>([&](auto done) {
      cut_links(stage.loop, {&first, &second}, {{0, 1}}, seconds(1), done);
    });
    ASSERT_TRUE(report.ok());
    EXPECT_TRUE(report->installed);
    EXPECT_FALSE(report->bit);
    EXPECT_EQ(report->silent, (std::vector<DirectedLink>{{0, 1}}));
  });
}

TEST_F(PrivateNodes, TheDriverCannotBeCutOff) {
  in_private_world([](Stage& stage) {
    Node& node = stage.add();
    EXPECT_FALSE(stage.wait<void>([&](auto done) { node.cut({driver_address()}, done); }).ok());
  });
}

using Slow = std::map<DirectedLink, LinkDelay>;

LinkCutReport make_slow(Stage& stage, const std::vector<Node*>& nodes, const Slow& links) {
  const auto report = stage.wait<LinkCutReport>(
      [&](auto done) { delay_links(stage.loop, nodes, links, seconds(5), done); });
  EXPECT_TRUE(report.ok()) << report.error().message;
  return report ? *report : LinkCutReport{};
}

// As soon as one datagram is there in less time, the way is not delayed.
bool is_fast(const NodeSocket& from, const NodeSocket& to, Nanos delay) {
  return agent::eventually([&] { return from.way_to(to) < delay; }, std::chrono::seconds(60));
}

bool in_order(const std::vector<int>& numbers) {
  return std::is_sorted(numbers.begin(), numbers.end());
}

constexpr Nanos kDelay = milliseconds(300);

TEST_F(PrivateNodes, ADelayBitesOneWayAndHeals) {
  in_private_world([](Stage& stage) {
    Node &first = stage.add(), &second = stage.add(), &third = stage.add();
    const std::vector<Node*> nodes{&first, &second, &third};
    EXPECT_TRUE(second.powers().delay) << second.powers().no_delay;
    const NodeSocket one(first), two(second), three(third);
    const LinkCutReport report = make_slow(stage, nodes, {{{0, 1}, {.delay = kDelay}}});
    EXPECT_TRUE(report.installed && report.bit) << report.evidence;
    EXPECT_GE(second.held().at(first.address()), kDelay);
    EXPECT_GE(one.way_to(two), kDelay);
    EXPECT_TRUE(is_fast(two, one, kDelay));
    EXPECT_TRUE(is_fast(three, two, kDelay));
    const Slow both{{{0, 1}, {.delay = kDelay}}, {{1, 2}, {.delay = kDelay}}};
    EXPECT_TRUE(make_slow(stage, nodes, both).bit);
    EXPECT_GE(one.way_to(two), kDelay) << "what is asked for once more goes on";
    EXPECT_GE(two.way_to(three), kDelay);
    EXPECT_TRUE(make_slow(stage, nodes, (Slow{{{1, 2}, {.delay = kDelay}}})).bit);
    EXPECT_TRUE(is_fast(one, two, kDelay)) << "an earlier one is replaced";
    const auto held =
        stage.wait<std::map<std::string, HeldPackets>>([&](auto done) { third.undelay(done); });
    EXPECT_GE(held->at(second.address()).packets, 2u);
    EXPECT_TRUE(is_fast(two, three, kDelay));
    EXPECT_TRUE(agent::children_of(third.agent_pid()).empty());
  });
}

TEST_F(PrivateNodes, SlowPacketsStayInOrderAndSomeComeTwice) {
  in_private_world([](Stage& stage) {
    Node &first = stage.add(), &second = stage.add();
    const NodeSocket one(first), two(second);
    const LinkDelay how{.delay = milliseconds(5),
                        .jitter = milliseconds(40),
                        .duplicate_percent = 30,
                        .seed = 7};
    EXPECT_TRUE(make_slow(stage, {&first, &second}, (Slow{{{0, 1}, how}})).bit);
    const std::vector<int> came = one.arrivals(two, 100);
    EXPECT_TRUE(in_order(came));
    EXPECT_GT(came.size(), 100u);
    const auto held =
        stage.wait<std::map<std::string, HeldPackets>>([&](auto done) { second.undelay(done); });
    const HeldPackets seen = held->at(first.address());
    EXPECT_GE(seen.packets, 100u);
    EXPECT_GE(seen.duplicates, came.size() - 100);
    EXPECT_EQ(seen.overtaken, 0u);
    const std::vector<int> healed = one.arrivals(two, 100);
    EXPECT_TRUE(in_order(healed));
    EXPECT_EQ(healed.size(), 100u);
  });
}

TEST_F(PrivateNodes, SlowPacketsOvertakeEachOtherWhereThatIsAskedFor) {
  in_private_world([](Stage& stage) {
    Node &first = stage.add(), &second = stage.add();
    const NodeSocket one(first), two(second);
    const LinkDelay how{
        .delay = milliseconds(5), .jitter = milliseconds(40), .reorder = true, .seed = 7};
    EXPECT_TRUE(make_slow(stage, {&first, &second}, (Slow{{{0, 1}, how}})).bit);
    const std::vector<int> came = one.arrivals(two, 100);
    EXPECT_FALSE(in_order(came));
    EXPECT_EQ(came.size(), 100u);
  });
}

TEST_F(PrivateNodes, SlowPacketsOfEverySizeComeWhole) {
  in_private_world([](Stage& stage) {
    Node &first = stage.add(), &second = stage.add();
    const NodeSocket one(first), two(second);
    const LinkDelay how{.delay = milliseconds(5)};
    EXPECT_TRUE(make_slow(stage, {&first, &second}, (Slow{{{0, 1}, how}})).bit);
    for (int round = 0; round < 20; ++round) {
      std::vector<std::string> texts;
      for (int i = 0; i < 20; ++i)
        texts.emplace_back(static_cast<size_t>(i % 2 ? 1'400 - i : 1 + i + round), char('a' + i));
      EXPECT_EQ(one.carried(two, texts), texts);
    }
    const auto held =
        stage.wait<std::map<std::string, HeldPackets>>([&](auto done) { second.undelay(done); });
    EXPECT_GE(held->at(first.address()).packets, 400u);
  });
}

TEST_F(PrivateNodes, AKilledQueueProgramLetsEverythingPassAndIsTold) {
  in_private_world([](Stage& stage) {
    Node &first = stage.add(), &second = stage.add();
    std::string told;
    second.set_events({.on_undelayed = [&](const std::string& why) { told = why; }});
    const NodeSocket one(first), two(second);
    EXPECT_TRUE(make_slow(stage, {&first, &second}, (Slow{{{0, 1}, {.delay = kDelay}}})).bit);
    const auto programs = agent::children_of(second.agent_pid());
    ASSERT_EQ(programs.size(), 1u);
    kill(programs[0], SIGKILL);
    ASSERT_TRUE(stage.loop.run_until([&] { return !told.empty(); }));
    EXPECT_NE(told.find("killed by signal 9"), std::string::npos) << told;
    EXPECT_TRUE(is_fast(one, two, kDelay));
    const auto healed =
        stage.wait<std::map<std::string, HeldPackets>>([&](auto done) { second.undelay(done); });
    EXPECT_TRUE(healed.ok());
    EXPECT_TRUE(make_slow(stage, {&first, &second}, (Slow{{{0, 1}, {.delay = kDelay}}})).bit);
    EXPECT_GE(one.way_to(two), kDelay) << "it can be made slow again";
  });
}

TEST_F(PrivateNodes, ADelayThatIsSecretlyNotInstalledIsNoticed) {
  in_private_world([](Stage& stage) {
    Node &first = stage.add(), &second = stage.add({{agent::kSkipVariable, "rule"}});
    const auto report = stage.wait<LinkCutReport>([&](auto done) {
      delay_links(stage.loop, {&first, &second}, {{{0, 1}, {.delay = kDelay}}}, seconds(1), done);
    });
    ASSERT_FALSE(report.ok());
    EXPECT_NE(report.error().message.find("n2: the rule for 10.77.0.11 is not there"),
              std::string::npos)
        << report.error().message;
  });
}

TEST_F(PrivateNodes, ADelayThatHoldsNothingDoesNotCount) {
  in_private_world([](Stage& stage) {
    Node &first = stage.add({{agent::kSkipVariable, "probe"}}), &second = stage.add();
    const auto report = stage.wait<LinkCutReport>([&](auto done) {
      delay_links(stage.loop, {&first, &second}, {{{0, 1}, {.delay = kDelay}}}, seconds(1), done);
    });
    ASSERT_TRUE(report.ok());
    EXPECT_TRUE(report->installed);
    EXPECT_FALSE(report->bit);
  });
}

TEST_F(PrivateNodes, TheDriverCannotBeMadeSlow) {
  in_private_world([](Stage& stage) {
    Node& node = stage.add();
    EXPECT_FALSE(stage
                     .wait<void>([&](auto done) {
                       node.delay({{driver_address(), {.delay = kDelay}}}, done);
                     })
                     .ok());
  });
}

LinkCutReport make_faulty(Stage& stage, const std::vector<Node*>& nodes, const LinkFault& fault,
                          const std::vector<DirectedLink>& links) {
  const auto report = stage.wait<LinkCutReport>(
      [&](auto done) { break_links(stage.loop, nodes, fault, links, seconds(10), done); });
  EXPECT_TRUE(report.ok()) << report.error().message;
  return report ? *report : LinkCutReport{};
}

void mend(Stage& stage, Node& node, const std::string& kind) {
  const auto struck = stage.wait<std::map<std::string, uint64_t>>(
      [&](auto done) { node.mend_links(kind, done); });
  ASSERT_TRUE(struck.ok()) << struck.error().message;
  EXPECT_GE(struck->at("10.77.0.11"), 1u) << kind;
}

TEST_F(PrivateNodes, ALossyLinkLosesAShareOneWayAndHeals) {
  in_private_world([](Stage& stage) {
    Node &first = stage.add(), &second = stage.add(), &third = stage.add();
    const NodeSocket one(first), two(second), three(third);
    const LinkFault half{"loss", {{"percent", 50}}};
    EXPECT_TRUE(make_faulty(stage, {&first, &second, &third}, half, {{0, 1}}).bit);
    const int came = one.that_come(two, 200);
    EXPECT_GT(came, 40);
    EXPECT_LT(came, 160);
    EXPECT_EQ(two.that_come(one, 200), 200);
    EXPECT_EQ(three.that_come(two, 200), 200);
    mend(stage, second, "loss");
    EXPECT_EQ(one.that_come(two, 200), 200);
  });
}

TEST_F(PrivateNodes, ALimitedLinkCarriesLittleOneWayAndHeals) {
  in_private_world([](Stage& stage) {
    Node &first = stage.add(), &second = stage.add();
    const NodeSocket one(first), two(second);
    const LinkFault slow{"rate", {{"kbytes", 4}}};
    EXPECT_TRUE(make_faulty(stage, {&first, &second}, slow, {{0, 1}}).bit);
    EXPECT_LT(one.that_come(two, 60, 1'000), 30);
    EXPECT_EQ(two.that_come(one, 60, 1'000), 60);
    mend(stage, second, "rate");
    EXPECT_EQ(one.that_come(two, 60, 1'000), 60);
  });
}

TEST_F(PrivateNodes, ALossAndACutOfOneLinkHealAlone) {
  in_private_world([](Stage& stage) {
    Node &first = stage.add(), &second = stage.add();
    const NodeSocket one(first), two(second);
    const std::vector<Node*> nodes{&first, &second};
    const LinkFault half{"loss", {{"percent", 50}}};
    EXPECT_TRUE(make_faulty(stage, nodes, half, {{0, 1}}).bit);
    const auto cut = stage.wait<LinkCutReport>(
        [&](auto done) { cut_links(stage.loop, nodes, {{0, 1}}, seconds(5), done); });
    ASSERT_TRUE(cut.ok() && cut->bit);
    EXPECT_FALSE(one.reaches(two, kMustNotCome));
    mend(stage, second, "loss");
    EXPECT_FALSE(one.reaches(two, kMustNotCome)) << "the cut stays";
    EXPECT_TRUE(make_faulty(stage, nodes, half, {{1, 0}}).bit);
    const auto healed =
        stage.wait<std::map<std::string, uint64_t>>([&](auto done) { second.heal(done); });
    ASSERT_TRUE(healed.ok());
    EXPECT_TRUE(one.reaches(two, kMustCome));
    EXPECT_LT(two.that_come(one, 200), 160) << "the loss stays";
  });
}

// A connection from the first node to the second: its two ends.
class NodeConnection {
 public:
  NodeConnection(const Node& from, const Node& to) {
    sockaddr_in place{.sin_family = AF_INET, .sin_port = htons(4'001)};
    inet_pton(AF_INET, to.address().c_str(), &place.sin_addr);
    const auto* where = reinterpret_cast<const sockaddr*>(&place);
    const int listener = socket_in(to);
    const int on = 1;
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    EXPECT_EQ(bind(listener, where, sizeof place), 0);
    EXPECT_EQ(listen(listener, 1), 0);
    near_ = socket_in(from);
    made_ = connect(near_, where, sizeof place) == 0;
    if (made_) far_ = accept(listener, nullptr, nullptr);
    close(listener);
  }
  ~NodeConnection() {
    close(near_);
    if (far_ >= 0) close(far_);
  }
  bool made() const { return made_; }
  bool carries(int patience_ms = kMustCome) const {
    char byte = 'x';
    pollfd readable{far_, POLLIN, 0};
    return made_ && ::send(near_, &byte, 1, MSG_NOSIGNAL) == 1 &&
           poll(&readable, 1, patience_ms) == 1 &&
           recv(far_, &byte, 1, 0) == 1;
  }
  // Both ends have learnt that it is no more; without sending anything themselves.
  bool breaks() const {
    for (int end : {near_, far_}) {
      pollfd readable{end, POLLIN, 0};
      char byte;
      if (poll(&readable, 1, 10'000) != 1 || recv(end, &byte, 1, 0) >= 0) return false;
    }
    return true;
  }

 private:
  static int socket_in(const Node& node) {
    const int home = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
    const int there = open(("/proc/" + std::to_string(node.agent_pid()) + "/ns/net").c_str(),
                           O_RDONLY | O_CLOEXEC);
    EXPECT_EQ(setns(there, CLONE_NEWNET), 0);
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    EXPECT_EQ(setns(home, CLONE_NEWNET), 0);
    close(home);
    close(there);
    return fd;
  }
  int near_ = -1, far_ = -1;
  bool made_ = false;
};

TEST_F(PrivateNodes, WhatComesOverALinkIsResetOneWayAndHeals) {
  in_private_world([](Stage& stage) {
    Node &first = stage.add(), &second = stage.add();
    const NodeSocket one(first), two(second);
    const NodeConnection before(first, second);
    EXPECT_TRUE(before.carries());
    EXPECT_TRUE(make_faulty(stage, {&first, &second}, {"reset", {}}, {{0, 1}}).bit);
    EXPECT_FALSE(before.carries(kMustNotCome));
    EXPECT_FALSE(NodeConnection(first, second).made());
    EXPECT_TRUE(one.reaches(two, kMustCome)) << "no TCP";
    mend(stage, second, "reset");
    EXPECT_TRUE(NodeConnection(first, second).carries());
  });
}

TEST_F(PrivateNodes, ConnectionsAreDestroyedAgainAndAgainUntilTheEnd) {
  in_private_world([](Stage& stage) {
    Node &first = stage.add(), &second = stage.add(), &third = stage.add();
    const std::vector<Node*> nodes{&first, &second, &third};
    const NodeConnection others(first, third);
    std::optional<NodeConnection> one(std::in_place, first, second);
    EXPECT_TRUE(one->carries());
    const LinkFault often{"disconnect", {{"every_ms", 50}}};
    const LinkCutReport report = make_faulty(stage, nodes, often, {{0, 1}});
    EXPECT_TRUE(report.bit);
    EXPECT_EQ(report.evidence, "n2 destroyed 1 from n1");
    EXPECT_TRUE(one->breaks());
    one.emplace(first, second);
    EXPECT_TRUE(!one->made() || one->breaks());
    EXPECT_TRUE(others.carries());
    mend(stage, second, "disconnect");
    EXPECT_TRUE(NodeConnection(first, second).carries());
    EXPECT_TRUE(make_faulty(stage, nodes, {"disconnect", {}}, {}).installed);
    EXPECT_TRUE(NodeConnection(first, second).carries());
  });
}

TEST_F(PrivateNodes, FaultsOfLinksThatAreSecretlyNotMadeAreNoticed) {
  in_private_world([](Stage& stage) {
    Node &first = stage.add(), &second = stage.add({{agent::kSkipVariable, "rule"}});
    const auto tried = [&](const LinkFault& fault) {
      return stage.wait<LinkCutReport>([&](auto done) {
        break_links(stage.loop, {&first, &second}, fault, {{0, 1}}, milliseconds(300), done);
      });
    };
    for (const char* kind : {"loss", "rate", "reset"}) {
      const auto report = tried({kind, {{"percent", 30}, {"kbytes", 4}}});
      ASSERT_FALSE(report.ok()) << kind;
      EXPECT_NE(report.error().message.find("n2: the rule is not there"), std::string::npos)
          << report.error().message;
    }
    const NodeConnection connection(first, second);
    const auto report = tried({"disconnect", {{"every_ms", 50}}});
    ASSERT_TRUE(report.ok());
    EXPECT_FALSE(report->bit);
    EXPECT_TRUE(connection.carries());
  });
}

TEST_F(PrivateNodes, FaultsOfLinksThatStrikeNothingDoNotCount) {
  in_private_world([](Stage& stage) {
    Node &first = stage.add({{agent::kSkipVariable, "probe"}}), &second = stage.add();
    for (const char* kind : kLinkFaults) {
      const LinkFault fault{kind, {{"percent", 100}, {"kbytes", 4}, {"every_ms", 50}}};
      const auto report = stage.wait<LinkCutReport>([&](auto done) {
        break_links(stage.loop, {&first, &second}, fault, {{0, 1}}, milliseconds(300), done);
      });
      ASSERT_TRUE(report.ok()) << kind;
      EXPECT_TRUE(report->installed) << kind;
      EXPECT_FALSE(report->bit) << kind;
      EXPECT_EQ(report->silent, (std::vector<DirectedLink>{{0, 1}})) << kind;
    }
  });
}

TEST_F(PrivateNodes, ProcessFaultsWorkThereToo) {
  in_private_world([](Stage& stage) {
    Node& node = stage.add();
    stage.start_shell(node, "while :; do :; done");
    EXPECT_EQ(stage.wait<PauseReport>([&](auto done) { node.pause("d", done); })->threads, 1);
    EXPECT_TRUE(stage.wait<ResumeReport>([&](auto done) { node.resume("d", done); })->held);
    EXPECT_EQ(stage.wait<KillReport>([&](auto done) { node.kill("d", done); })->end.signal,
              SIGKILL);
  });
}

TEST_F(PrivateNodes, ADaemonSeesOnlyItsNodesNetwork) {
  in_private_world([](Stage& stage) {
    Node& node = stage.add();
    const auto output = stage.wait<CommandOutput>([&](auto done) {
      node.run({.argv = {"ip", "-o", "-4", "addr"}}, done);
    });
    EXPECT_NE(output->out.find("10.77.0.11/24"), std::string::npos) << output->out;
    EXPECT_EQ(output->out.find("10.77.0.1/"), std::string::npos) << output->out;
  });
}

}  // namespace
}  // namespace assay
