#include "targets/raft/server/file_disk.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <optional>

#include "targets/raft/server/data_folder.h"

namespace assay::raft {
namespace {

using Kind = DiskOp::Kind;

class FileDiskTest : public testing::Test {
 protected:
  FileDiskTest() {
    std::string folder = (std::filesystem::temp_directory_path() / "assay-disk-XXXXXX").string();
    EXPECT_NE(::mkdtemp(folder.data()), nullptr);
    folder_ = folder;
    disk_.emplace(folder_, [this](std::function<void()> fn) {
      const std::lock_guard lock(mutex_);
      posted_.push_back(std::move(fn));
      wake_.notify_one();
    });
  }
  ~FileDiskTest() override {
    disk_.reset();
    std::filesystem::remove_all(folder_);
  }

  // Runs what the disk has posted, on this thread, as a replica's host does.
  bool run_posted(std::chrono::milliseconds within = std::chrono::seconds(20)) {
    std::unique_lock lock(mutex_);
    if (!wake_.wait_for(lock, within, [this] { return !posted_.empty(); })) return false;
    auto all = std::exchange(posted_, {});
    lock.unlock();
    for (auto& fn : all) fn();
    return true;
  }
  std::string submit(std::vector<DiskOp> ops) {
    std::optional<std::string> result;
    disk_->submit(std::move(ops), [&](const std::string& error) { result = error; });
    EXPECT_FALSE(result) << "done must not run inside the call";
    while (!result && run_posted()) {
    }
    return result.value_or("nothing was posted");
  }
  std::string content(const std::string& file) {
    std::string bytes;
    EXPECT_EQ(disk_->read(file, bytes), "");
    return bytes;
  }

  std::string folder_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::vector<std::function<void()>> posted_;
  std::optional<FileDisk> disk_;
};

TEST_F(FileDiskTest, DoesABatchInOrder) {
  EXPECT_EQ(submit({{Kind::kCreate, "a", ""},
                    {Kind::kSyncDirectory, "", ""},
                    {Kind::kAppend, "a", "one "},
                    {Kind::kSync, "a", ""},
                    {Kind::kCreate, "b", ""},
                    {Kind::kAppend, "b", "other"},
                    {Kind::kAppend, "a", "two"},
                    {Kind::kSync, "a", ""}}),
            "");
  EXPECT_EQ(content("a"), "one two");
  EXPECT_EQ(content("b"), "other");
}

TEST_F(FileDiskTest, BatchesComeAfterOneAnother) {
  submit({{Kind::kCreate, "a", ""}});
  std::string order;
  for (int i = 0; i < 100; ++i) {
    disk_->submit({{Kind::kAppend, "a", std::to_string(i) + ' '}, {Kind::kSync, "a", ""}},
                  [&order, i](const std::string&) { order += std::to_string(i) + ' '; });
  }
  EXPECT_EQ(submit({{Kind::kSync, "a", ""}}), "");
  EXPECT_EQ(content("a"), order);
  EXPECT_EQ(std::count(order.begin(), order.end(), ' '), 100);
}

TEST_F(FileDiskTest, CreatingWhatIsThereIsAnError) {
  EXPECT_EQ(submit({{Kind::kCreate, "a", ""}}), "");
  EXPECT_EQ(submit({{Kind::kCreate, "a", ""}}), "cannot open " + folder_ + "/a: File exists");
}

TEST_F(FileDiskTest, AfterAFailureNothingIsDoneOrSaid) {
  EXPECT_EQ(submit({{Kind::kCreate, "a", ""}}), "");
  EXPECT_EQ(submit({{Kind::kAppend, "missing", "x"}, {Kind::kAppend, "a", "x"}}),
            "cannot open " + folder_ + "/missing: No such file or directory");
  bool said = false;
  disk_->submit({{Kind::kAppend, "a", "y"}}, [&](const std::string&) { said = true; });
  EXPECT_FALSE(run_posted(std::chrono::milliseconds(200)));
  EXPECT_FALSE(said);
  EXPECT_EQ(content("a"), "");
}

TEST_F(FileDiskTest, AFullDiskIsAnError) {
  // The file system behind /dev/full takes nothing.
  std::filesystem::create_symlink("/dev/full", folder_ + "/full");
  EXPECT_EQ(submit({{Kind::kAppend, "full", "x"}}),
            "cannot write to " + folder_ + "/full: No space left on device");
}

TEST_F(FileDiskTest, RenamesOverWhatIsThereAndRemoves) {
  EXPECT_EQ(submit({{Kind::kCreate, "part", ""},
                    {Kind::kAppend, "part", "new"},
                    {Kind::kCreate, "whole", ""},
                    {Kind::kAppend, "whole", "older"},
                    {Kind::kRename, "part", "whole"},
                    {Kind::kAppend, "whole", "er"},
                    {Kind::kSync, "whole", ""},
                    {Kind::kSyncDirectory, "", ""}}),
            "");
  EXPECT_EQ(content("whole"), "newer");
  EXPECT_FALSE(std::filesystem::exists(folder_ + "/part"));
  EXPECT_EQ(disk_->bytes(), 5u);
  EXPECT_EQ(submit({{Kind::kAppend, "whole", "!"}, {Kind::kRemove, "whole", ""}}), "");
  EXPECT_FALSE(std::filesystem::exists(folder_ + "/whole"));
  EXPECT_EQ(disk_->bytes(), 0u);
  EXPECT_EQ(submit({{Kind::kRemove, "whole", ""}}), "") << "it is gone already";
  std::filesystem::create_directory(folder_ + "/folder");
  EXPECT_NE(submit({{Kind::kRemove, "folder", ""}}), "");
}

TEST_F(FileDiskTest, StartUpHalf) {
  std::ofstream(folder_ + "/a") << "0123456789";
  std::ofstream(folder_ + "/b") << "b";
  std::vector<std::string> names;
  EXPECT_EQ(disk_->list(names), "");
  std::sort(names.begin(), names.end());
  EXPECT_EQ(names, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(disk_->truncate("a", 4), "");
  EXPECT_EQ(disk_->sync("a"), "");
  EXPECT_EQ(content("a"), "0123");
  EXPECT_EQ(disk_->bytes(), 4u);
  EXPECT_EQ(disk_->remove("b"), "");
  EXPECT_EQ(disk_->sync_directory(), "");
  EXPECT_FALSE(std::filesystem::exists(folder_ + "/b"));
  std::string bytes;
  EXPECT_NE(disk_->read("b", bytes), "");
  EXPECT_NE(disk_->truncate("b", 0), "");
  EXPECT_NE(disk_->remove("b"), "");
  EXPECT_NE(disk_->sync("b"), "");
}

TEST_F(FileDiskTest, DestructionDoesNotWaitForCallbacks) {
  submit({{Kind::kCreate, "a", ""}});
  disk_->submit({{Kind::kSync, "a", ""}}, [](const std::string&) { FAIL(); });
  disk_.reset();
}

class DataFolderTest : public FileDiskTest {};

TEST_F(DataFolderTest, IsMadeWithAllAboveIt) {
  std::string error;
  const auto folder = DataFolder::open(folder_ + "/x/y/z", "n1", 7, error);
  EXPECT_NE(folder, nullptr) << error;
  EXPECT_TRUE(std::filesystem::is_directory(folder_ + "/x/y/z"));
}

TEST_F(DataFolderTest, HasOneOwnerAtATime) {
  std::string error;
  auto folder = DataFolder::open(folder_, "n1", 7, error);
  EXPECT_NE(folder, nullptr);
  EXPECT_EQ(DataFolder::open(folder_, "n1", 7, error), nullptr);
  EXPECT_EQ(error, "the folder " + folder_ + " is in use by another process");
  folder.reset();
  EXPECT_NE(DataFolder::open(folder_, "n1", 7, error), nullptr);
}

TEST_F(DataFolderTest, IsNotTakenOverByAnotherNodeOrCluster) {
  std::string error;
  EXPECT_NE(DataFolder::open(folder_, "n1", 7, error), nullptr);
  EXPECT_EQ(DataFolder::open(folder_, "n2", 7, error), nullptr);
  EXPECT_EQ(DataFolder::open(folder_, "n1", 8, error), nullptr);
  EXPECT_NE(DataFolder::open(folder_, "n1", 7, error), nullptr);
}

TEST_F(DataFolderTest, AMarkThatWasCutOffIsWrittenAnew) {
  std::ofstream(folder_ + "/member") << "assay-raft 1 n";
  std::string error;
  EXPECT_NE(DataFolder::open(folder_, "n1", 7, error), nullptr) << error;
  EXPECT_EQ(DataFolder::open(folder_, "n2", 7, error), nullptr);
}

}  // namespace
}  // namespace assay::raft
