#include "harness/run/observer.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "checkers/history/history_io.h"
#include "targets/virtual_loop.h"

namespace assay {
namespace {

// Its nodes say what they are told to say.
class TalkingTarget : public Target {
 public:
  std::map<std::string, Value> said;

  std::string_view name() const override { return "talking"; }
  Claims claims() const override { return {}; }
  std::vector<Symbol> ops() const override { return {}; }
  bool has_daemons() const override { return false; }
  Result<DaemonSpec> daemon(const Layout&, const NodeInfo&) const override { return DaemonSpec{}; }
  std::vector<std::string> binaries(const Layout&) const override { return {}; }
  void open_client(Loop&, const NodeInfo&, Callback<std::unique_ptr<Client>>) override {}
  void status(Loop& loop, const NodeInfo& node, Callback<Value> done) override {
    loop.post([value = said[node.name], done = std::move(done)] {
      value.is_null() ? done(environment_error("refused")) : done(value);
    });
  }
  void chain(Loop&, const NodeInfo&, int64_t, Callback<Value>) override {}
  std::string_view log_finding(std::string_view) const override { return ""; }
};

class ObserverTest : public testing::Test {
 protected:
  ObserverTest() {
    path_ = testing::TempDir() + "/observer_test." + std::to_string(::getpid()) + ".jsonl";
    EXPECT_TRUE(writer_.open(path_, Value::object({})).ok());
    observer_.start(kInterval);
  }
  ~ObserverTest() override { std::filesystem::remove(path_); }

  // Of the nodes that lead, and their terms; -1: it says none. All others do not answer.
  int leader_when(const std::vector<std::pair<const char*, int64_t>>& leaders) {
    target_.said.clear();
    for (const auto& [node, term] : leaders) {
      Value::Object status{{Symbol("role"), "leader"}};
      if (term >= 0) status.emplace_back(Symbol("term"), term);
      target_.said[node] = Value::object(std::move(status));
    }
    loop_.run(loop_.now() + kInterval);
    return observer_.leader();
  }

  static constexpr Nanos kInterval = milliseconds(100);
  VirtualLoop loop_;
  HistoryWriter writer_;
  Recorder recorder_{loop_, writer_, [](const Error&) {}};
  TalkingTarget target_;
  const std::vector<NodeInfo> nodes_{{.index = 0, .name = "n1"}, {.index = 1, .name = "n2"}};
  Observer observer_{loop_, recorder_, target_, nodes_};
  std::string path_;
};

TEST_F(ObserverTest, TheLeaderOfTheHighestTermLeads) {
  EXPECT_EQ(leader_when({}), -1);
  EXPECT_EQ(leader_when({{"n2", 3}}), 1);
  EXPECT_EQ(leader_when({{"n1", 2}, {"n2", 3}}), 1);
  EXPECT_EQ(leader_when({{"n1", 4}, {"n2", 3}}), 0);
}

TEST_F(ObserverTest, WithoutTermsWhoBeganToLeadLastDoes) {
  EXPECT_EQ(leader_when({{"n1", -1}}), 0);
  EXPECT_EQ(leader_when({{"n1", -1}, {"n2", -1}}), 1);
  EXPECT_EQ(leader_when({{"n1", -1}, {"n2", -1}}), 1);
  EXPECT_EQ(leader_when({{"n2", -1}}), 1);
  EXPECT_EQ(leader_when({{"n1", -1}, {"n2", -1}}), 0);  // away meanwhile
}

}  // namespace
}  // namespace assay
