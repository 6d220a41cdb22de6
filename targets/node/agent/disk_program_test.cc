// The disk program as a program sees it: scripts of calls, then the power goes.
#include "targets/node/agent/disk_program.h"

#include <errno.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <map>
#include <sstream>

#include "targets/node/agent/test_support.h"

namespace assay::agent {
namespace {

namespace fs = std::filesystem;

class DiskProgram : public testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "not root";
    const int fuse = ::open("/dev/fuse", O_RDWR);
    if (fuse < 0) GTEST_SKIP() << "/dev/fuse: " << strerror(errno);
    ::close(fuse);
    fs::create_directory(data());
    start();
  }
  void TearDown() override { stop(); }

  std::string data() const { return scratch_.path("data"); }
  std::string path(const std::string& name) const { return data() + "/" + name; }

  void start() {
    int to[2], from[2];
    ASSERT_EQ(::pipe2(to, O_CLOEXEC), 0);
    ASSERT_EQ(::pipe2(from, O_CLOEXEC), 0);
    pid_ = ::fork();
    if (pid_ == 0) {
      ::close(to[1]);
      ::close(from[0]);
      ::_exit(run_disk_program(data(), "assay-disk-test", to[0], from[1]));
    }
    ::close(to[0]);
    ::close(from[1]);
    to_ = to[1];
    from_ = from[0];
    ASSERT_EQ(hear(), "ok mounted");
  }
  void stop() {
    if (pid_ < 0) return;
    ::close(to_);
    ::waitpid(pid_, nullptr, 0);
    ::close(from_);
    pid_ = -1;
  }
  std::string hear() {
    std::string line;
    for (char c; ::read(from_, &c, 1) == 1 && c != '\n';) line += c;
    return line;
  }
  std::string ask(const std::string& command) {
    const std::string line = command + "\n";
    EXPECT_EQ(::write(to_, line.data(), line.size()), ssize_t(line.size()));
    return hear();
  }

  // One call a line; "" or the name of what went wrong.
  std::string call(const std::string& line) {
    std::istringstream words(line);
    std::string word, name, other;
    words >> word >> name >> other;
    const std::string file = path(name);
    const auto said = [](int done) { return done < 0 ? std::string(strerrorname_np(errno)) : std::string(); };
    const auto with = [&](int flags, const std::function<int(int)>& what) {
      const int fd = ::open(file.c_str(), flags, 0644);
      if (fd < 0) return said(-1);
      const std::string result = said(what(fd));
      ::close(fd);
      return result;
    };
    const auto put = [&](int fd) { return static_cast<int>(::write(fd, other.data(), other.size())); };
    if (word == "create") return with(O_WRONLY | O_CREAT | O_EXCL, put);
    if (word == "append") return with(O_WRONLY | O_APPEND, put);
    if (word == "rewrite") return with(O_WRONLY, put);
    if (word == "replace") return with(O_WRONLY | O_TRUNC, put);
    if (word == "append-sync") return with(O_WRONLY | O_APPEND | O_DSYNC, put);
    if (word == "fsync") return with(O_WRONLY, [](int fd) { return ::fsync(fd); });
    if (word == "fsync-dir") return with(O_RDONLY | O_DIRECTORY, [](int fd) { return ::fsync(fd); });
    if (word == "truncate") return said(::truncate(file.c_str(), std::stol(other)));
    if (word == "unlink") return said(::unlink(file.c_str()));
    if (word == "mkdir") return said(::mkdir(file.c_str(), 0755));
    if (word == "rmdir") return said(::rmdir(file.c_str()));
    if (word == "rename") return said(::rename(file.c_str(), path(other).c_str()));
    ADD_FAILURE() << "what is " << line << "?";
    return "";
  }
  void play(const std::string& script) {
    std::istringstream lines(script);
    for (std::string line; std::getline(lines, line, ';');) {
      const size_t equals = line.find(" = ");
      const std::string expected = equals == std::string::npos ? "" : line.substr(equals + 3);
      EXPECT_EQ(call(line.substr(0, equals)), expected) << line;
    }
  }
  // "a=text b/=" of all that is there, in order.
  std::string content() const {
    std::map<std::string, std::string> found;
    for (const auto& entry : fs::recursive_directory_iterator(data())) {
      const std::string name = fs::relative(entry.path(), data());
      if (entry.is_directory())
        found[name + "/"] = "";
      else
        found[name] = read_whole(entry.path());
    }
    std::string text;
    for (const auto& [name, bytes] : found) text += (text.empty() ? "" : " ") + name + "=" + bytes;
    return text;
  }

  ScratchFolder scratch_;
  pid_t pid_ = -1;
  int to_ = -1, from_ = -1;
};

struct Script {
  const char* name;
  const char* calls;
  const char* before;  // the power goes
  const char* after;
};

const Script kScripts[] = {
    {"WhatWasSyncedStays", "create a one;fsync a;fsync-dir .", "a=one", "a=one"},
    {"AnUnsyncedFileIsEmptyWhereItsNameIsDurable", "create a one;fsync-dir .", "a=one", "a="},
    {"ASyncedFileIsGoneWhereItsNameIsNot", "create a one;fsync a", "a=one", ""},
    {"AppendsSinceTheSyncGo", "create a one;fsync a;fsync-dir .;append a two", "a=onetwo", "a=one"},
    {"OverwrittenBytesComeBack", "create a one;fsync a;fsync-dir .;rewrite a XY", "a=XYe", "a=one"},
    {"ATruncatedFileIsWholeAgain", "create a onetwo;fsync a;fsync-dir .;truncate a 2", "a=on", "a=onetwo"},
    {"AReplacedFileIsTheOldOne", "create a one;fsync a;fsync-dir .;replace a four", "a=four", "a=one"},
    {"AnUnlinkedFileComesBack", "create a one;fsync a;fsync-dir .;unlink a", "", "a=one"},
    {"AnUnlinkThatWasSyncedStays", "create a one;fsync a;fsync-dir .;unlink a;fsync-dir .", "", ""},
    {"ARenameIsUndone", "create a one;fsync a;fsync-dir .;rename a b", "b=one", "a=one"},
    {"ARenameOverAnotherIsUndone",
     "create a one;fsync a;create b two;fsync b;fsync-dir .;rename a b", "b=one", "a=one b=two"},
    {"ASyncedRenameStays", "create a one;fsync a;fsync-dir .;create b two;fsync b;rename b a;fsync-dir .",
     "a=two", "a=two"},
    {"ASynchronousWriteIsDurable", "create a one;fsync a;fsync-dir .;append-sync a two", "a=onetwo", "a=onetwo"},
    {"AFolderGoesWithAllThatIsInIt", "mkdir d;create d/a one;fsync d/a;fsync-dir d", "d/= d/a=one", ""},
    {"AFolderStaysOnceItsParentIsSynced", "mkdir d;fsync-dir .;create d/a one;fsync d/a;fsync-dir d",
     "d/= d/a=one", "d/= d/a=one"},
    {"ARemovedFolderComesBack", "mkdir d;fsync-dir .;rmdir d", "", "d/="},
    {"AFolderThatIsNotEmptyStays", "mkdir d;fsync-dir .;create d/a x;rmdir d = ENOTEMPTY;unlink d/a;fsync-dir d", "d/=", "d/="},
};

TEST_F(DiskProgram, LosesWhatWasNotSyncedAndNothingElse) {
  for (const Script& script : kScripts) {
    SCOPED_TRACE(script.name);
    play(script.calls);
    EXPECT_EQ(content(), script.before);
    const std::string answer = ask("lose 1");
    EXPECT_EQ(answer.substr(0, 3), "ok ");
    EXPECT_EQ(content(), script.after);
    for (const auto& entry : fs::directory_iterator(data())) fs::remove_all(entry);
    const int folder = ::open(data().c_str(), O_RDONLY | O_DIRECTORY);
    ::fsync(folder);
    ::close(folder);
  }
}

TEST_F(DiskProgram, AnAppendedPartIsTornAtASector) {
  std::set<size_t> sizes;
  for (int seed = 1; seed <= 40; ++seed) {
    play("create a base;fsync a;fsync-dir .");
    const std::string added(4 * 512, 'x');
    { std::ofstream(path("a"), std::ios::app) << added; }
    ask("lose " + std::to_string(seed));
    const std::string left = read_whole(path("a"));
    EXPECT_TRUE(left.starts_with("base"));
    EXPECT_EQ((left.size() - 4) % 512, 0u);
    sizes.insert(left.size());
    play("unlink a;fsync-dir .");
  }
  EXPECT_GT(sizes.size(), 2u);
}

TEST_F(DiskProgram, AFailedSyncMakesNothingDurableAndNoLaterOneDoes) {
  play("create a one;fsync a;fsync-dir .;append a two");
  EXPECT_EQ(ask("fail fsync 2"), "ok");
  play("fsync-dir .;fsync a = EIO;fsync a");
  EXPECT_EQ(ask("look"), "ok failed=1 refused=0");
  EXPECT_EQ(content(), "a=onetwo");
  ask("lose 1");
  EXPECT_EQ(content(), "a=one");
}

TEST_F(DiskProgram, AFullDiskRefusesAndHasRoomAgain) {
  play("create a one");
  EXPECT_EQ(ask("full 4"), "ok");
  play("append a 1234;append a 5 = ENOSPC;rewrite a XYZ;create b x = ENOSPC");
  EXPECT_EQ(ask("heal full"), "ok failed=0 refused=2");
  play("append a 5");
  EXPECT_EQ(read_whole(path("a")), "XYZ12345");
}

TEST_F(DiskProgram, WritesFailAsTold) {
  play("create a one");
  EXPECT_EQ(ask("fail write 1"), "ok");
  play("append a two = EIO;append a four");
  EXPECT_EQ(read_whole(path("a")), "onefour");
}

TEST_F(DiskProgram, ItsEndLeavesTheFolderAsItWasSeenAndNothingMounted) {
  play("create a one;mkdir d;create d/b two;unlink a;create c three");
  stop();
  EXPECT_EQ(content(), "c=three d/= d/b=two");
  EXPECT_EQ(read_whole("/proc/self/mounts").find("assay-disk-test"), std::string::npos);
  for (const auto& entry : fs::directory_iterator(scratch_.path())) EXPECT_EQ(entry.path().filename(), "data");
}

TEST_F(DiskProgram, AFileIsReadThroughAMappingToo) {
  play("create a one;fsync a");
  const int fd = ::open(path("a").c_str(), O_RDONLY);
  void* mapped = ::mmap(nullptr, 3, PROT_READ, MAP_PRIVATE, fd, 0);
  ASSERT_NE(mapped, MAP_FAILED) << strerror(errno);
  EXPECT_EQ(std::string(static_cast<char*>(mapped), 3), "one");
  ::munmap(mapped, 3);
  ::close(fd);
}

TEST_F(DiskProgram, AFileThatIsOpenAndUnlinkedIsStillRead) {
  play("create a one");
  const int fd = ::open(path("a").c_str(), O_RDONLY);
  play("unlink a;fsync-dir .");
  char text[8] = {};
  EXPECT_EQ(::pread(fd, text, sizeof text, 0), 3);
  EXPECT_STREQ(text, "one");
  ::close(fd);
}

}  // namespace
}  // namespace assay::agent
