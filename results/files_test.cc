#include "results/files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <thread>
#include <vector>

#include "results/temp_folder.h"

namespace assay {
namespace {

using testing::HasSubstr;

TEST(Files, ANewFolderIsNobodyElses) {
  TempFolder temp;
  auto first = make_new_folder(temp / "a/b"), second = make_new_folder(temp / "a/b");
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_EQ(*first, temp / "a/b");
  EXPECT_EQ(*second, temp / "a/b-2");
}

TEST(Files, AFolderIsHeldByOneAndFreeOnceThatOneIsGone) {
  TempFolder temp;
  {
    auto held = FolderLock::take(temp.path());
    ASSERT_TRUE(held.ok()) << held.error().message;
    const FolderLock moved = std::move(*held);
    auto refused = FolderLock::take(temp.path());
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().fault, Fault::kInput);
    EXPECT_THAT(refused.error().message, HasSubstr("another assay is at work in it"));
  }
  EXPECT_TRUE(FolderLock::take(temp.path()).ok());
}

std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    names.push_back(entry.path().filename().string());
  }
  return names;
}

// As a full disk: the kernel refuses to write beyond so many bytes of any file.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) {
    handler_ = ::signal(SIGXFSZ, SIG_IGN);
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{bytes, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    ::signal(SIGXFSZ, handler_);
  }

 private:
  rlimit before_{};
  sighandler_t handler_;
};

// Root may write anywhere: be nobody for a while.
class OrdinaryUser {
 public:
  OrdinaryUser() : was_root_(::geteuid() == 0) {
    if (was_root_ && ::seteuid(65534) != 0) ADD_FAILURE() << "cannot become nobody";
  }
  ~OrdinaryUser() {
    if (was_root_ && ::seteuid(0) != 0) ADD_FAILURE() << "cannot become root again";
  }

 private:
  bool was_root_;
};

TEST(Files, AWrittenFileReadsBackAndReplacesTheOldOne) {
  TempFolder folder;
  ASSERT_TRUE(write_file(folder / "a.json", std::string(200'000, 'x')).ok());
  ASSERT_TRUE(write_file(folder / "a.json", "short\n").ok());
  EXPECT_EQ(*read_file(folder / "a.json"), "short\n");
  EXPECT_EQ(names_in(folder.path()), std::vector<std::string>{"a.json"});
}

TEST(Files, WhenTheDiskIsFullTheOldFileStaysAndNothingIsLeftBehind) {
  TempFolder folder;
  ASSERT_TRUE(write_file(folder / "verdict.json", "old").ok());
  Result<void> result;
  {
    FileSizeLimit limit(1000);
    result = write_file(folder / "verdict.json", std::string(5000, 'x'));
  }
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().message, "cannot write " + folder / "verdict.json" + ": File too large");
  EXPECT_EQ(result.error().fault, Fault::kEnvironment);
  EXPECT_EQ(*read_file(folder / "verdict.json"), "old");
  EXPECT_EQ(names_in(folder.path()), std::vector<std::string>{"verdict.json"});
}

TEST(Files, MissingPermissionNamesThePathAndTheCause) {
  TempFolder folder;
  ASSERT_TRUE(write_file(folder / "secret", "x").ok());
  ::chmod((folder / "secret").c_str(), 0);
  ::chmod(folder.path().c_str(), 0555);
  {
    OrdinaryUser nobody;
    EXPECT_EQ(write_file(folder / "a", "x").error().message,
              "cannot write " + folder / "a" + ": Permission denied");
    EXPECT_EQ(read_file(folder / "secret").error().message,
              "cannot read " + folder / "secret" + ": Permission denied");
    EXPECT_EQ(append_file_line(folder / "a", "x").error().message,
              "cannot write " + folder / "a" + ": Permission denied");
    EXPECT_EQ(make_folders(folder / "b/c").error().message,
              "cannot make folder " + folder / "b/c" + ": Permission denied");
    EXPECT_THAT(point_link(folder / "latest", "x").error().message,
                HasSubstr("latest to x: Permission denied"));
  }
  ::chmod(folder.path().c_str(), 0755);
}

TEST(Files, AFolderWhereAFileStandsIsRefused) {
  TempFolder folder;
  ASSERT_TRUE(write_file(folder / "runs", "x").ok());
  EXPECT_THAT(make_folders(folder / "runs").error().message, HasSubstr("Not a directory"));
  EXPECT_THAT(make_folders(folder / "runs/x").error().message, HasSubstr("Not a directory"));
}

TEST(Files, AMissingFileIsTheUsersError) {
  const Result<std::string> text = read_file("/nowhere/spec.json");
  ASSERT_FALSE(text.ok());
  EXPECT_EQ(text.error().message, "cannot read /nowhere/spec.json: No such file or directory");
  EXPECT_EQ(text.error().fault, Fault::kInput);
}

TEST(Files, LinesAppendedByManyDoNotMix) {
  TempFolder folder;
  const std::string path = folder / "index.jsonl";
  std::vector<std::thread> writers;
  for (int w = 0; w < 4; ++w) {
    writers.emplace_back([&, w] {
      for (int i = 0; i < 100; ++i) {
        EXPECT_TRUE(append_file_line(path, std::string(3000, static_cast<char>('a' + w))).ok());
      }
    });
  }
  for (auto& writer : writers) writer.join();
  std::ifstream file(path);
  int lines = 0;
  for (std::string line; std::getline(file, line); ++lines) {
    EXPECT_EQ(line, std::string(3000, line.at(0)));
  }
  EXPECT_EQ(lines, 400);
}

TEST(Files, ALineAfterACutOffOneStartsItsOwn) {
  TempFolder folder;
  std::ofstream(folder / "index.jsonl") << "{\"cut off";
  ASSERT_TRUE(append_file_line(folder / "index.jsonl", "{}").ok());
  EXPECT_EQ(*read_file(folder / "index.jsonl"), "{\"cut off\n{}\n");
}

TEST(Files, ALinkIsPointedAnewAtOnce) {
  TempFolder folder;
  ASSERT_TRUE(point_link(folder / "latest", "one").ok());
  ASSERT_TRUE(point_link(folder / "latest", "two").ok());
  EXPECT_EQ(std::filesystem::read_symlink(folder / "latest"), "two");
  EXPECT_EQ(names_in(folder.path()), std::vector<std::string>{"latest"});
}

TEST(WriteFile, WhatIsNoFileIsWrittenToAndNeverReplaced) {
  const TempFolder folder;
  const std::string target = folder.path() + "/target", link = folder.path() + "/link";
  ASSERT_TRUE(write_file(target, "old, and longer"));
  std::filesystem::create_symlink(target, link);
  ASSERT_TRUE(write_file(link, "new"));
  EXPECT_TRUE(std::filesystem::is_symlink(link));
  EXPECT_EQ(*read_file(target), "new");
  EXPECT_TRUE(write_file("/dev/null", "text"));
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
  const auto full = write_file("/dev/full", "text");
  ASSERT_FALSE(full);
  EXPECT_EQ(full.error().message, "cannot write /dev/full: No space left on device");
}

}  // namespace
}  // namespace assay
