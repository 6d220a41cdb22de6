#include "targets/exec/placeholders.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace assay::exec {
namespace {

using testing::HasSubstr;

class Placeholders : public testing::Test {
 protected:
  Placeholders() {
    for (int i = 0; i < 3; ++i) {
      const std::string number = std::to_string(i + 1);
      layout_.nodes.push_back(
          {i, "n" + number, "10.0.0." + number, 2379, 2380, "/runs/n" + number});
    }
  }
  Result<std::string> filled(std::string_view text, int node = 0) const {
    return fill(text, {layout_, layout_.nodes[node], bin_, options_});
  }
  std::string text(std::string_view text, int node = 0) const {
    auto result = filled(text, node);
    return result ? *result : "error: " + result.error().message;
  }

  Layout layout_;
  std::string bin_ = "/home/me";
  TargetInfo::Settings options_{{"level", "3"}};
};

TEST_F(Placeholders, ANodeIsDescribedByItsOwn) {
  EXPECT_EQ(text("{node} {index} {address}:{client_port}:{peer_port} {folder}", 1),
            "n2 2 10.0.0.2:2379:2380 /runs/n2");
  EXPECT_EQ(text("{bin}/store --of={nodes} --level={option:level}"),
            "/home/me/store --of=3 --level=3");
}

TEST_F(Placeholders, PeersAreListedWithWhatDescribesEach) {
  EXPECT_EQ(text("--cluster={peers:{node}=http://{address}:{peer_port}}!", 1),
            "--cluster=n1=http://10.0.0.1:2380,n2=http://10.0.0.2:2380,n3=http://10.0.0.3:2380!");
  EXPECT_EQ(text("{others| :{address}:{peer_port}}", 1), "10.0.0.1:2380 10.0.0.3:2380");
  EXPECT_EQ(text("{peers|; :{index}@{option:level}}"), "1@3; 2@3; 3@3");
}

TEST_F(Placeholders, ALinkThatHasAProxyIsReachedThere) {
  layout_.routes = {{0, 2, "127.0.0.1", 9000}, {2, 0, "127.0.0.1", 9001}};
  EXPECT_EQ(text("{others:{address}:{peer_port}}", 0), "10.0.0.2:2380,127.0.0.1:9000");
  EXPECT_EQ(text("{others:{address}:{peer_port}}", 1), "10.0.0.1:2380,10.0.0.3:2380");
  EXPECT_EQ(text("{others:{address}:{peer_port}}", 2), "127.0.0.1:9001,10.0.0.2:2380");
}

TEST_F(Placeholders, OneNodeHasNoOthers) {
  layout_.nodes.resize(1);
  EXPECT_EQ(text("[{others:{node}}]"), "[]");
  EXPECT_FALSE(filled("{others:{nod}}").ok());
}

TEST_F(Placeholders, DoubledBracesAreBraces) {
  EXPECT_EQ(text(R"({{"node": "{node}"}})"), R"({"node": "n1"})");
  EXPECT_EQ(text("{others:{{{index}}"), "{2,{3");
}

TEST_F(Placeholders, MistakesSayWhatWasExpected) {
  const struct {
    const char* text;
    const char* message;
  } rows[] = {
      {"{adress}", "expected one of {node}, {index}, {address}"},
      {"{}", "found \"{}\""},
      {"{node", "expected a placeholder in braces, found \"{node\""},
      {"a}b", "expected }} for a brace"},
      {"{option:colour}", "expected one of level, found \"{option:colour}\""},
      {"{option:level", "expected an option's name and }"},
      {"{peers:{adress}}", "found \"{adress}\""},
      {"{peers:{node}", "expected a } after the format"},
      {"{peers:{peers:{node}}}", "found \"{peers}\""},
      {"{all:{node}}", "found \"{all}\""},
  };
  for (const auto& row : rows) {
    const auto result = filled(row.text);
    ASSERT_FALSE(result.ok()) << row.text;
    EXPECT_THAT(result.error().message, HasSubstr(row.message)) << row.text;
    EXPECT_EQ(result.error().fault, Fault::kInput);
  }
}

}  // namespace
}  // namespace assay::exec
