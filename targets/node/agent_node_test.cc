// The driver's half of the protocol, with a scripted agent and in virtual time.
#include "targets/node/agent_node.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <optional>

#include "targets/node/agent/wire.h"
#include "targets/node/links.h"
#include "targets/virtual_loop.h"

namespace assay {
namespace {

using nlohmann::json;
using testing::HasSubstr;

// What a carrier was asked to do, and the way to speak as the agent.
struct Wire {
  AgentCarrier::Sink sink;
  std::vector<json> sent;
  bool input_ended = false, killed = false, gone = false;
  agent::LineSplitter splitter{1 << 20};

  void say(const json& line) { say_text(line.dump() + "\n"); }
  void say_text(const std::string& text) {
    if (const auto received = sink.received) received(text);
  }
  void end(const std::string& how) {
    if (const auto ended = sink.ended) ended(how);
  }
  void hello(json more = json::object()) {
    json hello = {{"hello", "assay-agent"}, {"protocol", 1}, {"run", "r"},
                  {"node", "n1"},           {"pid", 77},     {"powers", {"process", "link"}}};
    hello.update(more);
    say(hello);
  }
  // Answers the last request of that kind.
  void answer(const std::string& word, json fields = json::object()) {
    for (auto it = sent.rbegin(); it != sent.rend(); ++it) {
      if (it->value("do", "") != word) continue;
      fields["id"] = (*it)["id"];
      if (!fields.contains("error")) fields["ok"] = true;
      return say(fields);
    }
    ADD_FAILURE() << "nobody asked for " << word;
  }
  int count(const std::string& word) const {
    return static_cast<int>(std::count_if(
        sent.begin(), sent.end(), [&](const json& line) { return line.value("do", "") == word; }));
  }
};

class WireCarrier : public AgentCarrier {
 public:
  explicit WireCarrier(std::shared_ptr<Wire> wire) : wire_(std::move(wire)) {}
  ~WireCarrier() override {
    wire_->gone = true;
    wire_->sink = {};
  }
  void open(Sink sink) override { wire_->sink = std::move(sink); }
  void write(std::string bytes) override {
    wire_->splitter.feed(
        bytes, [this](std::string_view line) { wire_->sent.push_back(json::parse(line)); }, [] {});
  }
  void end_input() override { wire_->input_ended = true; }
  void kill() override { wire_->killed = true; }

 private:
  std::shared_ptr<Wire> wire_;
};

class AgentNodeTest : public testing::Test {
 protected:
  AgentNodeTest() { connect(); }

  void connect() {
    node = std::make_unique<AgentNode>(
        loop,
        AgentNodeOptions{
            .name = "n1", .address = "10.0.0.1", .run_id = "r", .control_address = "10.0.0.9"});
    wire = std::make_shared<Wire>();
    greeted.clear();
    node->connect(std::make_unique<WireCarrier>(wire),
                  [this](const Result<void>& r) { greeted.push_back(r ? "" : r.error().message); });
    node->set_events({.on_exit =
                          [this](const std::string& d, int pid, ProcessEnd end, bool asked) {
                            events.push_back("exit " + d + " " + std::to_string(pid) + " " +
                                             std::to_string(end.signal) + (asked ? " asked" : ""));
                          },
                      .on_bite =
                          [this](const std::string& from, uint64_t n) {
                            events.push_back("bite " + from + " " + std::to_string(n));
                          },
                      .on_unpaused =
                          [this](const std::string& d, const std::string& why) {
                            events.push_back("unpaused " + d + " " + why);
                          },
                      .on_lost = [this](const Error& why) { lost.push_back(why.message); }});
  }
  void run_for(Nanos time) { loop.run(loop.now() + time); }

  template <typename T>
  Node::Done<T> note(const std::string& what) {
    return [this, what](const Result<T>& r) {
      results.push_back(what + (r ? " ok" : ": " + r.error().message));
    };
  }

  VirtualLoop loop;
  std::shared_ptr<Wire> wire;
  std::unique_ptr<AgentNode> node;
  std::vector<std::string> greeted, lost, events, results;
};

TEST_F(AgentNodeTest, GreetsAndReadsThePowers) {
  EXPECT_EQ(wire->sent.at(0),
            json({{"hello", "assay-agent"}, {"protocol", 1}, {"control", "10.0.0.9"}}));
  wire->hello();
  EXPECT_EQ(greeted, std::vector<std::string>{""});
  EXPECT_TRUE(node->powers().cut);
  EXPECT_EQ(node->agent_pid(), 77);
  connect();
  wire->hello({{"powers", {"process"}}, {"absent", {{"link", "no nft"}}}});
  EXPECT_FALSE(node->powers().cut);
  EXPECT_EQ(node->powers().no_cut, "no nft");
}

TEST_F(AgentNodeTest, AWrongHelloIsRefusedWithTheReason) {
  const std::pair<json, const char*> rows[] = {{{{"protocol", 2}}, "protocol 2"},
                                               {{{"hello", "other"}}, "no assay-agent"},
                                               {{{"run", "other"}}, "other"},
                                               {{{"node", "n2"}}, "n2"},
                                               {{{"error", "cannot unshare"}}, "cannot unshare"}};
  for (const auto& [fields, reason] : rows) {
    connect();
    wire->hello(fields);
    ASSERT_EQ(greeted.size(), 1u);
    EXPECT_THAT(greeted[0], HasSubstr(reason));
    EXPECT_TRUE(wire->input_ended);
  }
  connect();
  wire->say_text("bash: assay-agent: not found\n");
  EXPECT_THAT(greeted.at(0), HasSubstr("no JSON object"));
  EXPECT_TRUE(lost.empty()) << "who starts a node learns it from the greeting alone";
}

TEST_F(AgentNodeTest, ASilentAgentIsGivenUpAfterFiveSeconds) {
  run_for(milliseconds(4'900));
  EXPECT_TRUE(greeted.empty());
  run_for(milliseconds(200));
  EXPECT_THAT(greeted.at(0), HasSubstr("no hello"));
}

TEST_F(AgentNodeTest, AnAgentThatEndsBeforeItsHelloIsAnError) {
  wire->end("exited with 1");
  EXPECT_THAT(greeted.at(0), HasSubstr("exited with 1"));
}

TEST_F(AgentNodeTest, RepliesFindTheirRequestsInAnyOrder) {
  wire->hello();
  node->pause("a", note<PauseReport>("pause"));
  node->kill("b", note<KillReport>("kill"));
  wire->answer("kill", {{"running", true}, {"signal", 9}});
  wire->answer("pause", {{"error", "no /proc"}});
  EXPECT_EQ(results, (std::vector<std::string>{"kill ok", "pause: no /proc"}));
}

TEST_F(AgentNodeTest, BeatsEverySecondAndLosesAnAgentThatDoesNotAnswer) {
  wire->hello();
  for (int i = 0; i < 20; ++i) {
    run_for(seconds(1));
    wire->answer("beat");
  }
  EXPECT_GE(wire->count("beat"), 20);
  EXPECT_TRUE(lost.empty());
  run_for(milliseconds(4'900));
  EXPECT_TRUE(lost.empty());
  run_for(milliseconds(200));
  EXPECT_EQ(lost, std::vector<std::string>{"did not answer for 4 s"});
  EXPECT_TRUE(wire->killed);
}

TEST_F(AgentNodeTest, TheLossOfTheAgentIsToldOnceAndEndsEveryRequestOnce) {
  const struct {
    std::function<void(Wire&)> how;
    const char* why;
  } rows[] = {
      {[](Wire& w) { w.end("was killed by signal 9 (Killed)"); }, "killed by signal 9"},
      {[](Wire& w) {
         w.say({{"event", "self-heal"}, {"why", "no input for 5 s"}});
       },
       "healed by itself: no input"},
      {[](Wire& w) {
         w.say({{"event", "bad-line"}, {"why", "x"}});
       },
       "did not understand"},
      {[](Wire& w) { w.say_text("segmentation fault\n"); }, "no JSON object"},
      {[](Wire& w) {
         w.say({{"id", 999}, {"ok", true}});
       },
       "nobody asked"},
      {[](Wire& w) {
         w.say({{"event", "exit"}, {"pid", "x"}});
       },
       "nonsense"},
      {[](Wire& w) { w.say_text(std::string(40 << 20, 'x')); }, "endless line"},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.why);
    connect();
    lost.clear();
    results.clear();
    wire->hello();
    node->heal([this](const auto& r) { results.push_back(r ? "ok" : "error"); });
    node->observe([this](const auto& r) { results.push_back(r ? "ok" : "error"); });
    row.how(*wire);
    wire->end("exited with 3");
    EXPECT_EQ(results, (std::vector<std::string>{"error", "error"}));
    ASSERT_EQ(lost.size(), 1u);
    EXPECT_THAT(lost[0], HasSubstr(row.why));
    node->probe({"10.0.0.2"}, {}, note<void>("late"));
    EXPECT_EQ(results.size(), 2u) << "never inside the call";
    run_for(seconds(20));
    EXPECT_EQ(results.size(), 3u);
    EXPECT_EQ(lost.size(), 1u);
  }
}

TEST_F(AgentNodeTest, AMalformedReplyIsAnErrorOfThatRequest) {
  wire->hello();
  node->kill("d", note<KillReport>("kill"));
  wire->answer("kill", {{"running", "perhaps"}});
  EXPECT_THAT(results.at(0), HasSubstr("nonsense"));
  EXPECT_TRUE(lost.empty());
}

TEST_F(AgentNodeTest, EventsComeWithWhatWasSeen) {
  wire->hello();
  wire->say({{"event", "exit"}, {"daemon", "d"}, {"pid", 5}, {"signal", 9}, {"asked", true}});
  wire->say({{"event", "bite"}, {"from", "10.0.0.2"}, {"packets", 3}});
  wire->say({{"event", "unpaused"}, {"daemon", "d"}, {"why", "it ran"}});
  wire->say({{"event", "of a later version"}});
  EXPECT_EQ(events,
            (std::vector<std::string>{"exit d 5 9 asked", "bite 10.0.0.2 3", "unpaused d it ran"}));
  EXPECT_EQ(node->bitten().at("10.0.0.2"), 3u);
  node->cut({"10.0.0.2"}, [](const auto&) {});
  EXPECT_TRUE(node->bitten().empty()) << "each cut proves itself anew";
}

TEST_F(AgentNodeTest, LogLinesAreStampedWithTheDriversClock) {
  wire->hello();
  std::vector<TailedLine> lines;
  node->tail("/log", [&](const TailedLine& line) { lines.push_back(line); });
  run_for(milliseconds(250));
  wire->say({{"event", "log"}, {"tail", "/log"}, {"seq", 1}, {"line", "hello"}});
  wire->say({{"event", "log"}, {"tail", "/other"}, {"seq", 1}, {"line", "x"}});
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_EQ(lines[0].text, "hello");
  EXPECT_EQ(lines[0].at, milliseconds(250));
}

TEST_F(AgentNodeTest, CloseIsDoneWhenTheAgentHasEnded) {
  wire->hello();
  node->close(note<void>("close"));
  EXPECT_FALSE(wire->input_ended);
  wire->answer("close");
  EXPECT_TRUE(wire->input_ended);
  EXPECT_TRUE(results.empty());
  wire->end("exited with 0");
  EXPECT_EQ(results, std::vector<std::string>{"close ok"});
  EXPECT_TRUE(lost.empty());
}

TEST_F(AgentNodeTest, ACloseThatFailsSaysSo) {
  wire->hello();
  node->close(note<void>("close"));
  wire->answer("close", {{"heal_error", "nft went away"}});
  wire->end("exited with 0");
  EXPECT_EQ(results.at(0), "close: nft went away");
  connect();
  wire->hello();
  node->close(note<void>("close"));
  wire->end("was killed by signal 9 (Killed)");
  EXPECT_THAT(results.at(1), HasSubstr("killed"));
  connect();
  wire->hello();
  node->close(note<void>("close"));
  for (int i = 0; i < 11; ++i) {
    if (wire->count("beat") > 0) wire->answer("beat");
    run_for(seconds(1));
  }
  EXPECT_TRUE(wire->killed);
  EXPECT_THAT(results.at(2), HasSubstr("did not end within 10 s"));
  EXPECT_TRUE(lost.empty());
}

TEST_F(AgentNodeTest, DestroyingTheNodeEndsWhatIsDueWithAnErrorLater) {
  wire->hello();
  node->observe(note<NodeObservation>("observe"));
  node->close(note<void>("close"));
  node.reset();
  EXPECT_TRUE(wire->gone);
  EXPECT_TRUE(results.empty()) << "never inside the call";
  run_for(seconds(20));
  EXPECT_EQ(results, (std::vector<std::string>{"observe: it is gone", "close: it is gone"}));
  EXPECT_TRUE(lost.empty());
}

TEST_F(AgentNodeTest, MayBeDestroyedInItsOwnCallbacks) {
  wire->hello();
  node->set_events({.on_lost = [this](const Error&) { node.reset(); }});
  node->observe([](const auto&) {});
  wire->end("exited with 3");
  EXPECT_EQ(node, nullptr);
  connect();
  wire->hello();
  node->heal([this](const auto&) { node.reset(); });
  wire->answer("heal", {{"dropped", json::object()}});
  EXPECT_EQ(node, nullptr);
  run_for(seconds(20));
}

TEST_F(AgentNodeTest, FetchesAFileInPiecesUpToTheLimit) {
  wire->hello();
  std::vector<FileContent> got;
  const auto keep = [&](const Result<FileContent>& r) { got.push_back(*r); };
  node->fetch("/f", 6, keep);
  wire->answer("fetch", {{"data", "YWJj"}, {"size", 9}, {"eof", false}});
  EXPECT_EQ(wire->sent.back()["offset"], 3);
  EXPECT_EQ(wire->sent.back()["max"], 3);
  wire->answer("fetch", {{"data", "ZGVm"}, {"size", 9}, {"eof", false}});
  ASSERT_EQ(got.size(), 1u);
  EXPECT_EQ(got[0].bytes, "abcdef");
  EXPECT_TRUE(got[0].cut);
  node->fetch("/f", 100, keep);
  wire->answer("fetch", {{"data", "YWJj"}, {"size", 3}, {"eof", true}});
  EXPECT_EQ(got.at(1).bytes, "abc");
  EXPECT_FALSE(got[1].cut);
}

// Two nodes whose agents are scripted.
class LinksTest : public AgentNodeTest {
 protected:
  LinksTest() {
    wire->hello();
    first = std::move(node);
    first_wire = wire;
    node = std::make_unique<AgentNode>(
        loop, AgentNodeOptions{.name = "n2", .address = "10.0.0.2", .run_id = "r", .beat = false});
    wire = std::make_shared<Wire>();
    node->connect(std::make_unique<WireCarrier>(wire), [](const auto&) {});
    wire->hello({{"node", "n2"}});
  }
  void cut(const std::vector<DirectedLink>& links) {
    cut_links(loop, {first.get(), node.get()}, links, milliseconds(500),
              [this](const Result<LinkCutReport>& r) {
                if (r)
                  report = *r;
                else
                  failure = r.error().message;
              });
  }
  std::unique_ptr<AgentNode> first;
  std::shared_ptr<Wire> first_wire;
  std::optional<LinkCutReport> report;
  std::string failure;
};

TEST_F(LinksTest, SourcesSendUntilTheTargetsRuleHasDroppedSomething) {
  cut({{0, 1}, {0, 1}});
  EXPECT_EQ(first_wire->sent.back()["from"], json::array());
  EXPECT_EQ(wire->sent.back()["from"], json::array({"10.0.0.1"}));
  first_wire->answer("cut");
  EXPECT_EQ(first_wire->count("probe"), 0) << "not before every rule is in place";
  wire->answer("cut");
  EXPECT_EQ(first_wire->sent.back()["to"], json::array({"10.0.0.2"}));
  run_for(milliseconds(100));
  EXPECT_GE(first_wire->count("probe"), 4);
  EXPECT_FALSE(report);
  wire->say({{"event", "bite"}, {"from", "10.0.0.1"}, {"packets", 2}});
  run_for(milliseconds(50));
  ASSERT_TRUE(report);
  EXPECT_TRUE(report->installed);
  EXPECT_TRUE(report->bit);
  EXPECT_EQ(report->evidence, "n2 dropped 2 from n1");
}

TEST_F(LinksTest, ALinkThatStaysSilentIsNamed) {
  cut({{0, 1}, {1, 0}});
  first_wire->answer("cut");
  wire->answer("cut");
  wire->say({{"event", "bite"}, {"from", "10.0.0.1"}, {"packets", 1}});
  run_for(seconds(1));
  ASSERT_TRUE(report);
  EXPECT_TRUE(report->installed);
  EXPECT_FALSE(report->bit);
  EXPECT_EQ(report->silent, (std::vector<DirectedLink>{{1, 0}}));
}

TEST_F(LinksTest, ARuleThatIsNotThereIsAFailure) {
  cut({{0, 1}});
  wire->answer("cut", {{"error", "the rule is not there"}});
  EXPECT_TRUE(failure.empty());
  first_wire->answer("cut");
  EXPECT_EQ(failure, "n2: the rule is not there");
}

}  // namespace
}  // namespace assay
