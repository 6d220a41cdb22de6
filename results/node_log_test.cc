#include "results/node_log.h"

#include <gtest/gtest.h>

#include <fstream>

#include "results/temp_folder.h"

namespace assay {
namespace {

std::vector<std::string> texts(const NodeLog& log) {
  std::vector<std::string> out;
  for (const StampedLine& line : log.lines) out.push_back(line.text);
  return out;
}
using Texts = std::vector<std::string>;

TEST(NodeLog, StampedLinesAreFoundByTheirTime) {
  TempFolder folder;
  const std::string path = folder / "node.log";
  {
    std::ofstream file(path);
    file << "before anything was stamped\n";
    file << stamp_log_line(milliseconds(500), "start");
    file << stamp_log_line(milliseconds(13'902), "became leader in term 4");
    file << "  at line 7 of its stack\n";
    file << stamp_log_line(seconds(14), "");
    file << stamp_log_line(seconds(3700), "end");
  }
  const Result<NodeLog> log = read_node_log(path, "n1", milliseconds(501), seconds(14), 100);
  ASSERT_TRUE(log.ok());
  EXPECT_EQ(log->node, "n1");
  EXPECT_EQ(texts(*log), (Texts{"became leader in term 4", "  at line 7 of its stack", ""}));
  EXPECT_EQ(log->lines[0].time, milliseconds(13'902));
  EXPECT_EQ(log->left_out, 0u);
  EXPECT_EQ(texts(*read_node_log(path, "n1", seconds(3000), seconds(4000), 9)), Texts{"end"});
}

TEST(NodeLog, OfManyLinesThoseNearestToTheMiddleAreKept) {
  TempFolder folder;
  const std::string path = folder / "node.log";
  {
    std::ofstream file(path);
    for (int i = 0; i <= 10'000; ++i) file << stamp_log_line(milliseconds(i), std::to_string(i));
  }
  const Result<NodeLog> log = read_node_log(path, "n1", milliseconds(2000), milliseconds(8000), 3);
  ASSERT_TRUE(log.ok());
  EXPECT_EQ(texts(*log), (Texts{"4999", "5000", "5001"}));
  EXPECT_EQ(log->left_out, 5998u);
}

TEST(NodeLog, AMissingFileIsAnEmptyLog) {
  TempFolder folder;
  const Result<NodeLog> log = read_node_log(folder / "absent", "n1", {}, seconds(1), 9);
  ASSERT_TRUE(log.ok());
  EXPECT_TRUE(log->lines.empty());
}

}  // namespace
}  // namespace assay
