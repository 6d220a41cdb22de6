// Nodes over SSH, against a real sshd on 127.0.0.1, and over commands.
#include "targets/node/remote_node.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include <filesystem>
#include <map>
#include <optional>

#include "targets/asio/testing_loop.h"
#include "targets/node/test_sshd.h"

namespace assay {
namespace {

namespace fs = std::filesystem;
using agent::eventually;
using agent::process_runs;
using testing::AllOf;
using testing::HasSubstr;

constexpr char kRemoteAgent[] = ASSAY_BIN_DIR "/assay-agent";

class RemoteNodes : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why = TestSshd::missing(); !why.empty()) GTEST_SKIP() << why;
    sshd_.emplace();
    host_ = host_of(*sshd_);
  }

  static Host host_of(TestSshd& sshd) {
    return {.name = "n1",
            .address = "127.0.0.1",
            .ssh_address = "127.0.0.1",
            .port = sshd.port,
            .user = "root",
            .keys = {sshd.folder.path("id")},
            .known_hosts = sshd.folder.path("known"),
            .cache = sshd.folder.path("cache")};
  }

  RemoteNodeOptions options(const Host& host) {
    return {.host = host,
            .run_id = "remote-test-" + std::to_string(getpid()),
            .programs = {kRemoteAgent},
            .agent_log = sshd_->folder.path("agent.log")};
  }

  template <typename T>
  Result<T> wait(const std::function<void(Node::Done<T>)>& operation) {
    std::optional<Result<T>> result;
    operation([&](Result<T> r) { result = std::move(r); });
    EXPECT_FALSE(result) << "done was called inside the call";
    if (!loop_.run_until([&] { return result.has_value(); }))
      return environment_error("an operation did not end");
    return std::move(*result);
  }
  Result<RemoteNode> start(const RemoteNodeOptions& options) {
    return wait<RemoteNode>(
        [&](auto done) { start_remote_node(loop_.context(), loop_, options, done); });
  }
  std::string error_of(const RemoteNodeOptions& options) {
    auto started = start(options);
    if (!started) return started.error().message;
    (void)wait<void>([&](auto done) { started->node->close(done); });
    return "";
  }
  std::string error_of(const Host& host) { return error_of(options(host)); }

  // A daemon that runs until it is stopped.
  pid_t start_daemon(RemoteNode& remote) {
    const auto pid = wait<int>([&](auto done) {
      remote.node->start({.name = "d",
                          .argv = {"sh", "-c", "echo begun; while :; do sleep 0.01; done"},
                          .log_path = remote.folder + "/d.log"},
                         done);
    });
    EXPECT_TRUE(pid.ok());
    return pid ? *pid : -1;
  }

  // What a node can do, whatever the way to it is.
  void work(const Host& host) {
    auto remote = start(options(host));
    ASSERT_TRUE(remote.ok()) << remote.error().message;
    Node& node = *remote->node;
    EXPECT_EQ(node.address(), "127.0.0.1");
    const pid_t pid = start_daemon(*remote);
    EXPECT_TRUE(process_runs(pid));
    const auto paused = wait<PauseReport>([&](auto done) { node.pause("d", done); });
    ASSERT_TRUE(paused.ok());
    EXPECT_GE(paused->threads, 1);
    EXPECT_TRUE(wait<ResumeReport>([&](auto done) { node.resume("d", done); })->held);
    const auto ran = wait<CommandOutput>([&](auto done) {
      node.run({.argv = {"sh", "-c", "cat; echo $X >&2; exit 3"}, .env = {{"X", "a 'b'"}}, .input = "in"}, done);
    });
    ASSERT_TRUE(ran.ok());
    EXPECT_EQ(ran->out + ran->err, "ina 'b'\n");
    EXPECT_EQ(ran->end.code, 3);
    std::vector<std::string> lines;
    node.tail(remote->folder + "/d.log", [&](const TailedLine& line) { lines.push_back(line.text); });
    EXPECT_TRUE(loop_.run_until([&] { return !lines.empty(); }));
    const std::string big(3 << 20, 'x');
    std::ofstream(remote->folder + "/big") << big;
    const auto fetched = wait<FileContent>(
        [&](auto done) { node.fetch(remote->folder + "/big", 1 << 30, done); });
    ASSERT_TRUE(fetched.ok());
    EXPECT_EQ(fetched->bytes, big);
    EXPECT_EQ(wait<KillReport>([&](auto done) { node.kill("d", done); })->end.signal, SIGKILL);
    EXPECT_FALSE(process_runs(pid));
    EXPECT_TRUE(wait<void>([&](auto done) { node.remove_folder(remote->folder, done); }).ok());
    EXPECT_TRUE(wait<void>([&](auto done) { node.close(done); }).ok());
    EXPECT_FALSE(fs::exists(remote->folder));
  }

  TestingLoop loop_;
  std::optional<TestSshd> sshd_;
  Host host_;
};

TEST_F(RemoteNodes, WorkOverSshAsHere) { work(host_); }

TEST_F(RemoteNodes, WorkOverACommandThatTakesWords) {
  host_.via = {"env"};
  work(host_);
}

TEST_F(RemoteNodes, WorkOverOpenSshWithAnRsaKey) {
  if (::access("/usr/bin/ssh", X_OK) != 0) GTEST_SKIP() << "ssh is missing (package openssh-client)";
  const std::string rsa = sshd_->key("rsa", "rsa");
  std::ofstream(sshd_->folder.path("id.pub"), std::ios::app) << agent::read_whole(rsa + ".pub");
  host_.via = {"ssh", "-F", "/dev/null", "-i", rsa, "-p", std::to_string(sshd_->port),
               "-o", "IdentitiesOnly=yes", "-o", "BatchMode=yes",
               "-o", "UserKnownHostsFile=" + host_.known_hosts, "root@127.0.0.1"};
  work(host_);
}

TEST_F(RemoteNodes, GetTheirProgramsOnceAndWhole) {
  EXPECT_EQ(error_of(host_), "");
  std::vector<std::pair<std::string, struct stat>> first;
  const auto programs = [&] {
    std::vector<std::string> found;
    for (const auto& entry : fs::recursive_directory_iterator(host_.cache + "/bin"))
      if (entry.is_regular_file()) found.push_back(entry.path());
    return found;
  };
  ASSERT_EQ(programs().size(), 1u);
  const std::string program = programs().front();
  EXPECT_EQ(agent::read_whole(program), agent::read_whole(kRemoteAgent));
  struct stat before {}, after {};
  ::stat(program.c_str(), &before);
  EXPECT_EQ(error_of(host_), "");
  ::stat(program.c_str(), &after);
  EXPECT_EQ(before.st_ino, after.st_ino);
  EXPECT_EQ(programs().size(), 1u);
  fs::remove(program);  // half gone: it comes again
  EXPECT_EQ(error_of(host_), "");
  EXPECT_EQ(programs(), std::vector<std::string>{program});
}

TEST_F(RemoteNodes, LeaveNothingOnceTheCacheIsRemoved) {
  EXPECT_EQ(error_of(host_), "");
  const auto clean = [&] {
    return wait<std::string>([&](auto done) { clean_host(loop_.context(), loop_, host_, done); });
  };
  EXPECT_THAT(*clean(), HasSubstr("removed " + host_.cache));
  EXPECT_FALSE(fs::exists(host_.cache));
  EXPECT_THAT(*clean(), HasSubstr("there is no"));
}

TEST_F(RemoteNodes, TheAgentEndsEverythingWhenItsConnectionIsKilled) {
  auto remote = start(options(host_));
  ASSERT_TRUE(remote.ok()) << remote.error().message;
  std::string lost;
  remote->node->set_events({.on_lost = [&](const Error& why) { lost = why.message; }});
  const pid_t pid = start_daemon(*remote);
  ASSERT_EQ(sshd_->sessions().size(), 1u);
  ::kill(sshd_->sessions().front(), SIGKILL);
  EXPECT_TRUE(loop_.run_until([&] { return !lost.empty(); }));
  EXPECT_THAT(lost, HasSubstr("SSH connection"));
  EXPECT_TRUE(eventually([&] { return !process_runs(pid); }));
}

// Nothing comes and nothing goes: both sides give up by themselves.
TEST_F(RemoteNodes, BothSidesGiveUpWhenSshdStandsStill) {
  auto remote = start(options(host_));
  ASSERT_TRUE(remote.ok()) << remote.error().message;
  std::string lost;
  remote->node->set_events({.on_lost = [&](const Error& why) { lost = why.message; }});
  const pid_t pid = start_daemon(*remote);
  const pid_t session = sshd_->sessions().front();
  ::kill(session, SIGSTOP);
  EXPECT_TRUE(loop_.run_until([&] { return !lost.empty(); }));
  EXPECT_TRUE(eventually([&] { return !process_runs(pid); })) << "no beat reached the agent";
  ::kill(session, SIGKILL);
}

TEST_F(RemoteNodes, TheDriverLetsGoAndTheAgentHeals) {
  auto remote = start(options(host_));
  ASSERT_TRUE(remote.ok()) << remote.error().message;
  const pid_t pid = start_daemon(*remote);
  remote->node.reset();
  EXPECT_TRUE(eventually([&] { return !process_runs(pid); }));
}

TEST_F(RemoteNodes, OneRunAtATimeUsesAHost) {
  auto first = start(options(host_));
  ASSERT_TRUE(first.ok()) << first.error().message;
  EXPECT_THAT(error_of(host_), HasSubstr("another run uses this host"));
  EXPECT_TRUE(wait<void>([&](auto done) { first->node->close(done); }).ok());
  EXPECT_EQ(error_of(host_), "");
}

TEST_F(RemoteNodes, AForeignHostKeyIsRefused) {
  const std::string other = sshd_->key("other", "ed25519");
  host_.known_hosts = sshd_->known("wrong", agent::read_whole(other + ".pub"));
  EXPECT_THAT(error_of(host_), AllOf(HasSubstr("is not the one in " + host_.known_hosts), HasSubstr("ssh-keygen")));
}

TEST_F(RemoteNodes, AnUnknownHostIsRefused) {
  host_.known_hosts = sshd_->folder.path("nowhere");
  EXPECT_THAT(error_of(host_), AllOf(HasSubstr("is not in " + host_.known_hosts), HasSubstr("ssh-keyscan")));
}

TEST_F(RemoteNodes, AHostKeyOfAnotherKindIsAskedForWhereItIsTheKnownOne) {
  TestSshd two("ed25519", "HostKey " + sshd_->host_key("ecdsa"));
  Host host = host_of(two);
  host.known_hosts = two.known("ecdsa", agent::read_whole(sshd_->host_key("ecdsa") + ".pub"));
  EXPECT_EQ(error_of(host), "");
}

TEST_F(RemoteNodes, AHashedHostIsKnown) {
  run_or_fail("ssh-keygen -H -f " + host_.known_hosts);
  EXPECT_EQ(error_of(host_), "");
}

TEST_F(RemoteNodes, AnEcdsaKeyIsTaken) {
  const std::string key = sshd_->key("ecdsa", "ecdsa");
  std::ofstream(sshd_->folder.path("id.pub"), std::ios::app) << agent::read_whole(key + ".pub");
  host_.keys = {key};
  EXPECT_EQ(error_of(host_), "");
}

TEST_F(RemoteNodes, RefusedKeysAreNamed) {
  host_.keys = {sshd_->key("stranger", "ed25519"), sshd_->folder.path("absent")};
  EXPECT_THAT(error_of(host_), AllOf(HasSubstr("lets root not in"), HasSubstr("stranger"),
                                     HasSubstr("absent: No such file")));
}

TEST_F(RemoteNodes, AnRsaKeyIsNamedAsTheCause) {
  host_.keys = {sshd_->key("rsa", "rsa")};
  EXPECT_THAT(error_of(host_), HasSubstr("is an RSA key"));
}

TEST_F(RemoteNodes, AnRsaHostKeyIsNamedAsTheCause) {
  TestSshd rsa("rsa");
  EXPECT_THAT(error_of(host_of(rsa)), HasSubstr("ed25519 or ecdsa"));
}

TEST_F(RemoteNodes, MissingSudoIsSaid) {
  ::mkdir(sshd_->folder.path("bin").c_str(), 0755);
  for (const char* tool : {"sh", "uname", "mkdir", "touch"})
    fs::create_symlink("/bin/" + std::string(tool), sshd_->folder.path("bin/") + tool);
  TestSshd bare("ed25519", "SetEnv PATH=" + sshd_->folder.path("bin") + " SHLVL=1");
  Host host = host_of(bare);
  host.sudo = true;
  EXPECT_THAT(error_of(host), AllOf(HasSubstr("sudo"), HasSubstr("NOPASSWD")));
}

TEST_F(RemoteNodes, AFullDiskLeavesNoHalfProgram) {
  ::mkdir(host_.cache.c_str(), 0755);
  if (::mount("none", host_.cache.c_str(), "tmpfs", 0, "size=256k") != 0)
    GTEST_SKIP() << "cannot mount a small disk here";
  EXPECT_THAT(error_of(host_), AllOf(HasSubstr("cannot upload assay-agent"), HasSubstr("No space left")));
  for (const auto& entry : fs::recursive_directory_iterator(host_.cache))
    EXPECT_TRUE(entry.is_directory() || entry.file_size() == 0) << entry.path();
  EXPECT_EQ(::umount(host_.cache.c_str()), 0);
}

TEST_F(RemoteNodes, AnotherMachineIsRefusedBeforeAnythingIsSent) {
  std::string program = agent::read_whole(kRemoteAgent);
  program[18] = static_cast<char>(183);  // e_machine: aarch64
  program[19] = 0;
  sshd_->folder.write("assay-agent", program);
  RemoteNodeOptions wrong = options(host_);
  wrong.programs = {sshd_->folder.path("assay-agent")};
  EXPECT_THAT(error_of(wrong), AllOf(HasSubstr("built for Linux aarch64"), HasSubstr("--bin-dir")));
}

TEST_F(RemoteNodes, AFolderThatCannotBeWrittenIsSaid) {
  host_.cache = "/proc/assay";
  EXPECT_THAT(error_of(host_), HasSubstr("its cache folder cannot be written"));
}

TEST_F(RemoteNodes, AClosedPortIsSaid) {
  host_.port = free_port();
  EXPECT_THAT(error_of(host_), HasSubstr("Connection refused"));
}

// A server that takes connections, says `greeting`, and then nothing.
class Mute {
 public:
  explicit Mute(const std::string& greeting) : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    ::bind(fd_, reinterpret_cast<sockaddr*>(&address), size);
    ::listen(fd_, 4);
    ::getsockname(fd_, reinterpret_cast<sockaddr*>(&address), &size);
    port = ntohs(address.sin_port);
    thread_ = std::thread([this, greeting] {
      taken_ = ::accept4(fd_, nullptr, nullptr, SOCK_CLOEXEC);
      if (taken_ >= 0) (void)!::write(taken_, greeting.data(), greeting.size());
    });
  }
  ~Mute() {
    ::shutdown(fd_, SHUT_RDWR);
    thread_.join();
    ::close(taken_);
    ::close(fd_);
  }
  int port = 0;

 private:
  int fd_, taken_ = -1;
  std::thread thread_;
};

TEST_F(RemoteNodes, AHostThatHangsAfterConnectingIsGivenUp) {
  for (const char* greeting : {"", "SSH-2.0-Mute\r\n"}) {
    Mute mute(greeting);
    host_.port = mute.port;
    EXPECT_THAT(error_of(host_), HasSubstr("then said nothing")) << greeting;
  }
}

TEST_F(RemoteNodes, WhatIsNoSshServerIsSaid) {
  Mute mute("HTTP/1.1 400 Bad Request\r\n\r\n");
  host_.port = mute.port;
  EXPECT_NE(error_of(host_), "");
}

TEST_F(RemoteNodes, AShellThatTalksAtItsStartIsUnderstood) {
  ::mkdir(sshd_->folder.path("home").c_str(), 0755);
  sshd_->folder.write("home/.bashrc", "echo welcome to this host; echo and more >&2\n");
  TestSshd talks("ed25519", "SetEnv HOME=" + sshd_->folder.path("home") + " SHLVL=0");
  EXPECT_EQ(error_of(host_of(talks)), "");
}

TEST_F(RemoteNodes, ACommandThatLeadsNowhereIsSaid) {
  host_.via = {"no-such-program-anywhere"};
  EXPECT_THAT(error_of(host_), HasSubstr("not found in PATH"));
  host_.via = {"false"};
  EXPECT_THAT(error_of(host_), HasSubstr("`false echo …` did not run echo there"));
}

}  // namespace
}  // namespace assay
