// Real assay-raft processes on loopback.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checkers/history/history_io.h"
#include "checkers/history/watch_value.h"
#include "targets/kv/http/testing_gateway.h"
#include "targets/raft/server/frame.h"
#include "targets/raft/server/testing_servers.h"

namespace assay::raft {
namespace {

using testing::HasSubstr;
using testing::Not;

Op op_of(Symbol f, const std::string& key, Value value, Token expected = {}) {
  Op op;
  op.f = f;
  op.key = Symbol(key);
  op.value = std::move(value);
  op.expected = expected;
  return op;
}

class ServerTest : public testing::Test {
 protected:
  void start(int count, std::vector<std::string> flags = {}) {
    servers_.emplace(count, std::move(flags));
    servers_->start_all();
  }
  int leader() {
    const int leader = asker_.leader(*servers_);
    if (leader < 0) throw std::runtime_error("no leader: " + servers_->log(0));
    return leader;
  }
  // One operation by a client of its own; info when there is no answer in time.
  Op run(int node, const Op& op, std::chrono::milliseconds within = std::chrono::seconds(10)) {
    auto client = make_kv_client(loop_, servers_->node(node), {});
    std::optional<Op> done;
    client->invoke(op, [&](Op completed) { done = std::move(completed); });
    loop_.run_until([&] { return done.has_value(); }, within);
    return done ? *done : complete(op, OpType::kInfo, {Symbol("deadline"), "", {}, {}});
  }
  // Repeats until it is ok; a test's own retry, on operations that may be repeated.
  Op run_until_ok(int node, const Op& op) {
    Op done;
    EXPECT_TRUE(loop_.run_until(
        [&] {
          done = run(node, op);
          if (done.type != OpType::kOk) loop_.run_for(std::chrono::milliseconds(20));
          return done.type == OpType::kOk;
        },
        std::chrono::seconds(30)));
    return done;
  }
  std::string post(int node, const std::string& target, const std::string& body) {
    return asker_.http(servers_->node(node), "POST", target, body).body;
  }
  bool converged() {
    Value first;
    for (int i = 0; i < servers_->size(); ++i) {
      const Value status = asker_.status(servers_->node(i));
      if (status.is_null()) return false;
      if (i == 0) first = status;
      for (const char* field : {"applied", "chain", "at", "term", "leader"}) {
        if (status[field] != first[field]) return false;
      }
    }
    return true;
  }

  TestingLoop loop_;
  Asker asker_{loop_};
  std::optional<Servers> servers_;
};

TEST_F(ServerTest, ServesReadsWritesAndTransactionsOnEveryNode) {
  start(3);
  leader();
  int64_t revision = 1;
  for (int node = 0; node < 3; ++node) {
    const std::string key = "k" + std::to_string(node);
    const Op written = run(node, op_of(f::write, key, 1));
    EXPECT_EQ(written.type, OpType::kOk) << (written.error ? written.error->text : "");
    EXPECT_EQ(written.revision, Token(++revision));
    for (int reader = 0; reader < 3; ++reader) {
      const Op read = run(reader, op_of(f::read, key, {}));
      EXPECT_EQ(read.type, OpType::kOk);
      EXPECT_EQ(read.value, Value(1));
      EXPECT_EQ(read.revision, Token(revision));
    }
    EXPECT_EQ(run(node, op_of(f::cas, key, Value::pair(1, 2), Token(revision))).type, OpType::kOk);
    const Op conflict = run(node, op_of(f::cas, key, Value::pair(1, 3), Token(revision)));
    EXPECT_EQ(conflict.type, OpType::kFail);
    EXPECT_EQ(conflict.error->cls.text(), "conflict");
    EXPECT_EQ(conflict.error->current, Token(revision + 1));
    ++revision;
  }
  EXPECT_TRUE(loop_.run_until([&] { return converged(); }));
}

// --- Watches

Op watch_of(int64_t from, Nanos span) {
  return op_of(f::watch, "w/", to_value(WatchWish{Symbol("w/"), from, span}));
}
std::vector<int64_t> revisions_in(const Op& watch) {
  std::vector<int64_t> revisions;
  const auto seen = watch_seen(watch.value);
  EXPECT_TRUE(seen) << watch.value.to_json();
  for (const WatchedEvent& event : seen ? seen->events : std::vector<WatchedEvent>{})
    revisions.push_back(event.revision);
  return revisions;
}

TEST_F(ServerTest, EveryNodeTellsTheSameChangesAndOneGoesOnWhereAnotherEnded) {
  start(3);
  const int first = leader();
  for (int i = 0; i < 6; ++i) run(first, op_of(f::write, "w/1", i));
  ASSERT_TRUE(loop_.run_until([&] { return converged(); }));
  int64_t next = 4;
  for (int node = 0; node < 3; ++node) {
    std::vector<int64_t> from_4;
    for (int64_t revision = 4; revision <= 7 + node; ++revision) from_4.push_back(revision);
    EXPECT_EQ(revisions_in(run(node, watch_of(4, milliseconds(100)))), from_4);
    const Op done = run(node, watch_of(next, milliseconds(100)));
    EXPECT_EQ(revisions_in(done).size(), node == 0 ? 4u : 1u);
    next = watch_next(done.value);
    run(first, op_of(f::write, "w/2", node));
    ASSERT_TRUE(loop_.run_until([&] { return converged(); }));
  }
}

TEST_F(ServerTest, AWatchIsToldWhatHappensWhileItIsOpen) {
  start(3);
  const int first = leader();
  auto watcher = make_kv_client(loop_, servers_->node((first + 1) % 3), {});
  std::optional<Op> done;
  watcher->invoke(watch_of(2, seconds(2)), [&](Op completed) { done = std::move(completed); });
  for (int i = 0; i < 3; ++i) run(first, op_of(f::write, "w/1", i));
  ASSERT_TRUE(loop_.run_until([&] { return done.has_value(); }));
  EXPECT_EQ(revisions_in(*done), (std::vector<int64_t>{2, 3, 4}));
  const auto seen = watch_seen(done->value);
  ASSERT_FALSE(seen->progress.empty()) << "one comes every half second";
  EXPECT_EQ(seen->progress.back().revision, 4);
}

// etcd#20221: what is older than the revision asked for is none of the watcher's business.
TEST_F(ServerTest, AMemberThatLagsWaitsForTheRevisionAskedFor) {
  start(3);
  const int first = leader();
  const int lagging = (first + 1) % 3;
  run(first, op_of(f::write, "w/1", 0));  // 2
  ASSERT_TRUE(loop_.run_until([&] { return converged(); }));
  servers_->child(lagging).signal(SIGSTOP);
  for (int i = 0; i < 3; ++i) run(first, op_of(f::write, "w/1", i));  // 3, 4, 5
  auto watcher = make_kv_client(loop_, servers_->node(lagging), {});
  std::optional<Op> done;
  watcher->invoke(watch_of(5, seconds(3)), [&](Op completed) { done = std::move(completed); });
  loop_.run_for(std::chrono::milliseconds(50));
  servers_->child(lagging).signal(SIGCONT);
  ASSERT_TRUE(loop_.run_until([&] { return done.has_value(); }));
  EXPECT_EQ(revisions_in(*done), std::vector<int64_t>{5});
}

TEST_F(ServerTest, CompactionReachesEveryNodeAndItsWatches) {
  start(3);
  const int first = leader();
  for (int i = 0; i < 6; ++i) run(first, op_of(f::write, "w/1", i));  // 2 to 7
  EXPECT_EQ(run(first, op_of(Symbol("compact"), "", 5)).type, OpType::kOk);
  const Op again = run(first, op_of(Symbol("compact"), "", 5));
  EXPECT_EQ(again.type, OpType::kFail);
  ASSERT_TRUE(loop_.run_until([&] { return converged(); }));
  for (int node = 0; node < 3; ++node) {
    const Op gone = run(node, watch_of(4, seconds(2)));
    EXPECT_EQ(gone.value.text_or("end", ""), "compacted");
    EXPECT_EQ(gone.value.int_or("compact_revision", 0), 5);
    EXPECT_EQ(revisions_in(run(node, watch_of(5, milliseconds(100)))),
              (std::vector<int64_t>{5, 6, 7}));
  }
}

TEST_F(ServerTest, ANodeThatDiesCutsItsWatches) {
  start(3);
  const int first = leader();
  run(first, op_of(f::write, "w/1", 0));
  auto watcher = make_kv_client(loop_, servers_->node(first), {});
  std::optional<Op> done;
  watcher->invoke(watch_of(2, seconds(60)), [&](Op completed) { done = std::move(completed); });
  loop_.run_for(std::chrono::milliseconds(300));
  servers_->child(first).end(SIGKILL);
  ASSERT_TRUE(loop_.run_until([&] { return done.has_value(); }));
  EXPECT_EQ(done->value.text_or("end", ""), "cut");
  EXPECT_EQ(watch_next(done->value), 3);
}

TEST_F(ServerTest, TheCanaryBeginsEveryWatchWithTheNextChange) {
  start(1, {"--unsafe-canary-watch-from-now"});
  leader();
  run(0, op_of(f::write, "w/1", 0));
  EXPECT_EQ(revisions_in(run(0, watch_of(2, milliseconds(100)))), std::vector<int64_t>{});
  EXPECT_THAT(servers_->log(0), HasSubstr("UNSAFE CANARY"));
}

TEST_F(ServerTest, ANodeThatWasKilledComesBackWithEverything) {
  start(3);
  const int first = leader();
  const int victim = (first + 1) % 3;
  for (int i = 0; i < 20; ++i) run(first, op_of(f::write, "k" + std::to_string(i), i));
  servers_->child(victim).end(SIGKILL);
  for (int i = 20; i < 40; ++i) {
    EXPECT_EQ(run(first, op_of(f::write, "k" + std::to_string(i), i)).type, OpType::kOk);
  }
  servers_->start(victim);
  EXPECT_TRUE(loop_.run_until([&] { return converged(); }));
  for (int i = 0; i < 40; ++i) {
    EXPECT_EQ(run(victim, op_of(f::read, "k" + std::to_string(i), {})).value, Value(i));
  }
}

TEST_F(ServerTest, EverythingSurvivesTheDeathOfAllNodes) {
  start(3, {"--segment-bytes", "4096"});
  const int first = leader();
  for (int i = 0; i < 100; ++i) run(first, op_of(f::write, "k" + std::to_string(i), i));
  const Value before = asker_.status(servers_->node(first));
  for (int i = 0; i < 3; ++i) servers_->child(i).end(SIGKILL);
  servers_->start_all();
  leader();
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(run_until_ok(i % 3, op_of(f::read, "k" + std::to_string(i), {})).value, Value(i));
  }
  EXPECT_EQ(run_until_ok(0, op_of(f::read, "k0", {})).at, Token(before.int_or("at", -1)));
}

TEST_F(ServerTest, ADeadLeaderIsReplacedAndFollowsWhenItReturns) {
  start(3);
  const int old_leader = leader();
  run(old_leader, op_of(f::write, "k", 1));
  servers_->child(old_leader).end(SIGKILL);
  const int new_leader = leader();
  EXPECT_NE(new_leader, old_leader);
  EXPECT_EQ(run_until_ok(new_leader, op_of(f::read, "k", {})).value, Value(1));
  EXPECT_EQ(run_until_ok(new_leader, op_of(f::write, "k", 2)).type, OpType::kOk);
  servers_->start(old_leader);
  EXPECT_EQ(run_until_ok(old_leader, op_of(f::read, "k", {})).value, Value(2));
}

TEST_F(ServerTest, AStoppedLeaderIsReplacedAndAnswersNothingOldLater) {
  start(3);
  const int old_leader = leader();
  run(old_leader, op_of(f::write, "k", 1));
  servers_->child(old_leader).signal(SIGSTOP);
  // Asked while it is stopped; answered after it has gone on.
  auto client = make_kv_client(loop_, servers_->node(old_leader), {});
  std::optional<Op> late;
  client->invoke(op_of(f::read, "k", {}), [&](Op op) { late = std::move(op); });
  const int other = (old_leader + 1) % 3;
  run_until_ok(other, op_of(f::write, "k", 2));
  servers_->child(old_leader).signal(SIGCONT);
  ASSERT_TRUE(loop_.run_until([&] { return late.has_value(); }));
  if (late->type == OpType::kOk) {
    EXPECT_EQ(late->value, Value(2));
  }
  EXPECT_TRUE(loop_.run_until([&] { return converged(); }));
}

TEST_F(ServerTest, WithoutAMajorityRequestsAreRefusedForCertain) {
  start(3);
  const int first = leader();
  for (int i = 0; i < 3; ++i) {
    if (i != first) servers_->child(i).end(SIGKILL);
  }
  // What was asked before it noticed is unknown; then it knows no leader.
  Op done;
  EXPECT_TRUE(loop_.run_until([&] {
    done = run(first, op_of(f::write, "k", 1));
    return done.type == OpType::kFail;
  }));
  EXPECT_EQ(done.error->cls.text(), "unavailable");
  EXPECT_EQ(run(first, op_of(f::read, "k", {})).error->cls.text(), "unavailable");
  const HttpReply reply =
      asker_.http(servers_->node(first), "POST", "/v3/kv/put", R"({"key":"YQ=="})");
  EXPECT_EQ(reply.status, 503);
  EXPECT_EQ(reply.body,
            R"({"error":"etcdserver: no leader","message":"etcdserver: no leader","code":14})");
  EXPECT_EQ(asker_.http(servers_->node(first), "GET", "/health", "").body, R"({"health":"false"})");
}

TEST_F(ServerTest, AFloodIsRefusedForCertain) {
  start(3, {"--pending-requests-max", "8", "--election-timeout-ms", "5000-6000"});
  const int first = leader();
  for (int i = 0; i < 3; ++i) {
    if (i != first) servers_->child(i).signal(SIGSTOP);
  }
  std::vector<std::unique_ptr<Client>> clients;
  int refused = 0;
  int other = 0;
  for (int i = 0; i < 30; ++i) {
    clients.push_back(make_kv_client(loop_, servers_->node(first), {}));
    clients.back()->invoke(op_of(f::write, "k", i), [&](const Op& op) {
      (op.type == OpType::kFail && op.error->cls.text() == "unavailable" ? refused : other) += 1;
    });
  }
  EXPECT_TRUE(loop_.run_until([&] { return refused == 22; }));
  EXPECT_EQ(other, 0);
  for (int i = 0; i < 3; ++i) servers_->child(i).signal(SIGCONT);
  EXPECT_TRUE(loop_.run_until([&] { return refused + other == 30; }));
}

TEST_F(ServerTest, OneNodeIsAClusterToo) {
  start(1);
  EXPECT_EQ(run_until_ok(0, op_of(f::write, "k", 1)).revision, Token(2));
}

TEST_F(ServerTest, LargeValuesPassAndTooLargeOnesAreRefused) {
  start(3);
  const int first = leader();
  const std::string large(1'000'000, 'x');
  for (int node = 0; node < 3; ++node) {
    // A slow machine may elect another leader meanwhile: then the outcome is unknown.
    Op written;
    for (int attempt = 0; attempt < 5 && written.type != OpType::kOk; ++attempt)
      written = run(node, op_of(f::write, "k" + std::to_string(node), Value(large)));
    EXPECT_EQ(written.type, OpType::kOk) << node;
  }
  EXPECT_EQ(run((first + 1) % 3, op_of(f::read, "k0", {})).value, Value(large));
  const Op too_large = run(first, op_of(f::write, "k", Value(std::string(1'600'000, 'x'))));
  EXPECT_EQ(too_large.type, OpType::kFail);
  EXPECT_EQ(too_large.error->text, "etcdserver: request is too large");
}

TEST_F(ServerTest, ChainsOfAllNodesAreEqual) {
  start(3);
  const int first = leader();
  for (int i = 0; i < 50; ++i) run(first, op_of(f::write, "k", i));
  ASSERT_TRUE(loop_.run_until([&] { return converged(); }));
  std::vector<Value> chains;
  for (int i = 0; i < 3; ++i) {
    std::optional<Value> chain;
    fetch_kv_chain(loop_, servers_->node(i), 20, [&](Result<Value> value) { chain = *value; });
    ASSERT_TRUE(loop_.run_until([&] { return chain.has_value(); }));
    chains.push_back(*chain);
  }
  EXPECT_EQ(chains[0]["hashes"].as_array().size(), 20u);
  EXPECT_EQ(chains[0], chains[1]);
  EXPECT_EQ(chains[0], chains[2]);
  const int64_t from = chains[0].int_or("from", 0);
  const HttpReply one =
      asker_.http(servers_->node(0), "GET", "/assay/chain?from=" + std::to_string(from + 19), "");
  EXPECT_EQ((*parse_value(one.body))["hashes"].as_array()[0], chains[0]["hashes"].as_array()[19]);
}

TEST_F(ServerTest, TheCanariesAreRightWhileNothingGoesWrong) {
  for (const char* canary :
       {"--unsafe-canary-local-reads", "--unsafe-canary-early-ack", "--unsafe-canary-buffered-ack",
        "--unsafe-canary-forgotten-vote", "--unsafe-canary-unchecked-leader-reads",
        "--unsafe-canary-watch-from-now", "--unsafe-canary-ignored-guards"}) {
    SCOPED_TRACE(canary);
    start(3, {canary});
    const int first = leader();
    EXPECT_THAT(servers_->log(first), HasSubstr("UNSAFE CANARY"));
    auto client = make_kv_client(loop_, servers_->node(first), {});
    const auto invoke = [&](const Op& op) {
      std::optional<Op> done;
      client->invoke(op, [&](Op completed) { done = std::move(completed); });
      EXPECT_TRUE(loop_.run_until([&] { return done.has_value(); }));
      return done.value_or(op);
    };
    int64_t revision = 1;
    for (int i = 0; i < 100; ++i) {
      const Op write = invoke(op_of(f::write, "k", i));
      EXPECT_EQ(write.type, OpType::kOk);
      EXPECT_EQ(write.revision, Token(++revision));
      const Op read = invoke(op_of(f::read, "k", {}));
      EXPECT_EQ(read.value, Value(i));
      EXPECT_EQ(read.revision, Token(revision));
      EXPECT_EQ(invoke(op_of(f::cas, "k", Value::pair(i + 1, 0))).error->cls.text(), "mismatch");
    }
    EXPECT_TRUE(loop_.run_until([&] { return converged(); }));
  }
}

// What makes local reads wrong: a follower that hears nothing still answers.
TEST_F(ServerTest, LocalReadsAreStaleOnAFollowerThatIsCutOff) {
  start(3, {"--unsafe-canary-local-reads"});
  const int first = leader();
  run(first, op_of(f::write, "k", 1));
  ASSERT_TRUE(loop_.run_until([&] { return converged(); }));
  for (int i = 0; i < 3; ++i) {
    if (i != first) servers_->child(i).end(SIGKILL);
  }
  EXPECT_EQ(run(first, op_of(f::read, "k", {})).value, Value(1));
  loop_.run_until([&] { return asker_.status(servers_->node(first))["role"] != Value("leader"); });
  EXPECT_EQ(run(first, op_of(f::read, "k", {})).value, Value(1)) << "asked nobody";
}

// --- Snapshots -----------------------------------------------------------------------------------

uint64_t disk_bytes(const NodeInfo& node) {
  uint64_t bytes = 0;
  for (const auto& file : std::filesystem::directory_iterator(node.folder)) {
    std::error_code gone;
    const uint64_t size = file.file_size(gone);
    bytes += gone ? 0 : size;
  }
  return bytes;
}

class SnapshotServerTest : public ServerTest {
 protected:
  static constexpr int kValueBytes = 500;

  SnapshotServerTest() {
    start(3, {"--snapshot-entries", "20", "--snapshot-keep", "5", "--segment-bytes", "4096"});
  }
  // So many puts on a few keys; now and then what they replaced is forgotten.
  void write(int node, int count) {
    for (int i = 0; i < count; ++i) {
      const std::string value = std::to_string(++wrote_) + std::string(kValueBytes, 'x');
      EXPECT_EQ(run(node, op_of(f::write, "k" + std::to_string(i % 5), Value(value))).type,
                OpType::kOk);
      if (i % 50 != 49) continue;
      const int64_t at = asker_.status(servers_->node(node)).int_or("at", 0);
      post(node, "/v3/kv/compaction", R"({"revision":")" + std::to_string(at) + R"("})");
    }
  }

  int wrote_ = 0;
};

TEST_F(SnapshotServerTest, ANodeThatMissedWhatIsGoneCatchesUpByASnapshot) {
  const int first = leader();
  const int victim = (first + 1) % 3;
  write(first, 10);
  servers_->child(victim).end(SIGKILL);
  write(first, 400);
  servers_->start(victim);
  EXPECT_TRUE(loop_.run_until([&] { return converged(); }, std::chrono::seconds(30)));
  EXPECT_THAT(servers_->log(victim), HasSubstr("installed a snapshot that ends with entry"));
  EXPECT_THAT(servers_->log(first), HasSubstr("sends a snapshot to a node that lags"));
  const Value status = asker_.status(servers_->node(victim));
  EXPECT_GT(status.int_or("snapshot", 0), 300);
  EXPECT_GT(status.int_or("first", 0), 300);
  for (int i = 0; i < 5; ++i) {
    const Op op = op_of(f::read, "k" + std::to_string(i), {});
    EXPECT_EQ(run_until_ok(victim, op).value, run_until_ok(first, op).value);
  }
  // The chain is known from the snapshot on, and equal to that of the others.
  std::optional<Value> here;
  std::optional<Value> there;
  fetch_kv_chain(loop_, servers_->node(victim), 1000, [&](Result<Value> v) { here = *v; });
  fetch_kv_chain(loop_, servers_->node(first), 1000, [&](Result<Value> v) { there = *v; });
  ASSERT_TRUE(loop_.run_until([&] { return here && there; }));
  EXPECT_LT((*here)["hashes"].as_array().size(), (*there)["hashes"].as_array().size());
  EXPECT_EQ((*here)["hashes"].as_array().back(), (*there)["hashes"].as_array().back());
}

TEST_F(SnapshotServerTest, TheDiskHoldsTheStateAndALittleOfTheLog) {
  const int first = leader();
  write(first, 600);
  ASSERT_TRUE(loop_.run_until([&] { return converged(); }));
  for (int node = 0; node < 3; ++node) {
    // At most 55 versions and 60 entries of some 600 bytes, three times; all were 600 of both.
    EXPECT_TRUE(loop_.run_until([&] { return disk_bytes(servers_->node(node)) < 150'000; }))
        << disk_bytes(servers_->node(node));
    const std::string told = post(node, "/v3/maintenance/status", "{}");
    EXPECT_THAT(told, HasSubstr("\"dbSize\""));
  }
}

TEST_F(SnapshotServerTest, EverythingSurvivesTheDeathOfAllNodes) {
  const int first = leader();
  write(first, 120);
  const Value before = asker_.status(servers_->node(first));
  for (int i = 0; i < 3; ++i) servers_->child(i).end(SIGKILL);
  servers_->start_all();
  leader();
  for (int i = 0; i < 5; ++i) {
    const Op read = run_until_ok(i % 3, op_of(f::read, "k" + std::to_string(i), {}));
    EXPECT_EQ(read.value, Value(std::to_string(115 + i + 1) + std::string(kValueBytes, 'x')));
    EXPECT_EQ(read.at, Token(before.int_or("at", -1)));
  }
  EXPECT_THAT(servers_->log(first), HasSubstr(" in a snapshot, term"));
}

// A watch goes on over an install: the changes are in the snapshot. A node that is stopped is sent
// as many appends as may be unanswered, and no more.
TEST_F(SnapshotServerTest, AWatchIsToldWhatASnapshotBrings) {
  const int first = leader();
  const int lagging = (first + 1) % 3;
  run(first, op_of(f::write, "w/1", 0));  // 2
  ASSERT_TRUE(loop_.run_until([&] { return converged(); }));
  auto watcher = make_kv_client(loop_, servers_->node(lagging), {});
  std::optional<Op> done;
  watcher->invoke(watch_of(2, seconds(8)), [&](Op completed) { done = std::move(completed); });
  loop_.run_for(std::chrono::milliseconds(50));
  servers_->child(lagging).signal(SIGSTOP);
  for (int i = 0; i < 150; ++i) run(first, op_of(f::write, "w/1", i));
  servers_->child(lagging).signal(SIGCONT);
  ASSERT_TRUE(loop_.run_until([&] { return done.has_value(); }, std::chrono::seconds(20)));
  EXPECT_THAT(servers_->log(lagging), HasSubstr("installed a snapshot"));
  const std::vector<int64_t> revisions = revisions_in(*done);
  EXPECT_EQ(revisions.size(), 151u);
  for (size_t i = 0; i < revisions.size(); ++i) {
    EXPECT_EQ(revisions[i], static_cast<int64_t>(i + 2));
  }
}

// --- Links that are cut --------------------------------------------------------------------------

int shell(const std::string& command) {
  return std::system((command + " >/dev/null 2>&1").c_str());
}

// Runs in a network of its own, where packets between nodes can be dropped: the next test starts
// it.
TEST_F(ServerTest, DISABLED_InANetworkOfItsOwn) {
  ASSERT_EQ(shell("ip link set lo up"), 0);
  ASSERT_EQ(shell("nft add table ip cut && nft 'add chain ip cut in { type filter hook input "
                  "priority 0; }'"),
            0);
  servers_.emplace(3, std::vector<std::string>{}, true);
  servers_->start_all();
  const int first = leader();
  const int victim = (first + 1) % 3;
  const std::string address = servers_->node(victim).address;
  for (int i = 0; i < 3; ++i) {
    if (i == victim) continue;
    const std::string& other = servers_->node(i).address;
    for (const auto& [from, to] : {std::pair(address, other), std::pair(other, address)}) {
      ASSERT_EQ(shell("nft add rule ip cut in ip saddr " + from + " ip daddr " + to + " drop"), 0);
    }
  }
  const std::string lost = "peer " + servers_->node(victim).name + " is lost: no acknowledgements";
  EXPECT_TRUE(
      loop_.run_until([&] { return servers_->log(first).find(lost) != std::string::npos; }));
  EXPECT_EQ(run(first, op_of(f::write, "k", 1)).type, OpType::kOk);
  loop_.run_for(std::chrono::seconds(2));
  ASSERT_EQ(shell("nft flush chain ip cut in"), 0);
  const auto healed = std::chrono::steady_clock::now();
  EXPECT_TRUE(loop_.run_until([&] { return converged(); }));
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - healed;
  std::printf("converged %.0f ms after the heal\n", took.count());
  EXPECT_EQ(run(victim, op_of(f::read, "k", {})).value, Value(1));
}

TEST_F(ServerTest, AStalledConnectionIsGivenUpAndMadeAnew) {
  if (shell("unshare -rn true") != 0) GTEST_SKIP() << "no network namespaces here";
  if (shell("nft --version") != 0) GTEST_SKIP() << "there is no nft here (package nftables)";
  const std::string self = std::filesystem::read_symlink("/proc/self/exe");
  EXPECT_EQ(std::system(("unshare -rn " + self +
                         " --gtest_filter='*InANetworkOfItsOwn' --gtest_also_run_disabled_tests")
                            .c_str()),
            0);
}

// --- The program ---------------------------------------------------------------------------------

class ProgramTest : public ServerTest {
 protected:
  // Runs it to its end; gives its exit code, and its output in output_.
  int exit_code(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), program("assay-raft"));
    return end_of(ChildProcess(arguments, log_path()));
  }
  int end_of(ChildProcess child) {
    const int status = child.wait();
    output_ = read_text(log_path());
    std::filesystem::remove(log_path());
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }
  std::string log_path() const { return servers_->folder() + "/output"; }
  int lines() const { return static_cast<int>(std::count(output_.begin(), output_.end(), '\n')); }

  std::string output_;
};

TEST_F(ProgramTest, HelpAndVersionEndWell) {
  servers_.emplace(1);
  EXPECT_EQ(exit_code({"--help"}), 0);
  EXPECT_THAT(output_, HasSubstr("usage: assay-raft"));
  EXPECT_EQ(exit_code({"--version"}), 0);
  EXPECT_THAT(output_, HasSubstr("assay-raft "));
}

TEST_F(ProgramTest, BadArgumentsAreOneLineAndTwo) {
  servers_.emplace(1);
  EXPECT_EQ(exit_code({"--nonsense"}), 2);
  EXPECT_EQ(output_, "assay-raft: unknown option --nonsense; see --help\n");
  EXPECT_EQ(exit_code({}), 2);
  EXPECT_EQ(output_, "assay-raft: --name is missing; see --help\n");
}

TEST_F(ProgramTest, SigtermEndsIt) {
  for (const int signal : {SIGTERM, SIGINT}) {
    start(3);
    const int first = leader();
    servers_->child(first).signal(signal);
    const int status = servers_->child(first).wait();
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    EXPECT_THAT(servers_->log(first), HasSubstr("ended by SIG"));
  }
}

TEST_F(ProgramTest, APortInUseIsOneLine) {
  start(1);
  leader();
  const NodeInfo& node = servers_->node(0);
  const auto command_with = [&](int client_port, int peer_port) {
    return std::vector<std::string>{"--name",    "n1",
                                    "--data",    servers_->folder() + "/other",
                                    "--client",  "127.0.0.1:" + std::to_string(client_port),
                                    "--peer",    "127.0.0.1:" + std::to_string(peer_port),
                                    "--cluster", "n1=127.0.0.1:" + std::to_string(peer_port)};
  };
  const std::vector<int> ports = free_ports(2);
  EXPECT_EQ(exit_code(command_with(node.client_port, ports[0])), 1);
  EXPECT_THAT(output_, HasSubstr("cannot listen on 127.0.0.1:" + std::to_string(node.client_port) +
                                 ": the port is in use"));
  EXPECT_EQ(lines(), 1);
  EXPECT_EQ(exit_code(command_with(ports[1], node.peer_port)), 1);
  EXPECT_THAT(output_, HasSubstr("cannot listen for peers on 127.0.0.1:" +
                                 std::to_string(node.peer_port) + ": the port is in use"));
  EXPECT_EQ(lines(), 1);
}

TEST_F(ProgramTest, AFolderThatCannotBeIsOneLine) {
  start(1);
  leader();
  auto command = servers_->command(0);
  command.erase(command.begin());
  const auto with_data = [&](const std::string& data) {
    auto changed = command;
    *(std::find(changed.begin(), changed.end(), "--data") + 1) = data;
    return changed;
  };
  EXPECT_EQ(exit_code(with_data("/proc/nowhere/data")), 1);
  EXPECT_THAT(output_, HasSubstr("cannot make the folder /proc/nowhere/data"));
  EXPECT_EQ(lines(), 1);
  EXPECT_EQ(exit_code(command), 1);
  EXPECT_THAT(output_, HasSubstr("is in use by another process"));
  EXPECT_EQ(lines(), 1);
}

TEST_F(ProgramTest, AnotherNodesFolderIsRefused) {
  start(3);
  leader();
  for (int i = 0; i < 3; ++i) servers_->child(i).end(SIGTERM);
  std::filesystem::remove_all(servers_->node(1).folder);
  std::filesystem::copy(servers_->node(0).folder, servers_->node(1).folder);
  auto command = servers_->command(1);
  command.erase(command.begin());
  EXPECT_EQ(exit_code(command), 1);
  EXPECT_THAT(output_, HasSubstr("belongs to another node or cluster: assay-raft 1 n1 "));
}

TEST_F(ProgramTest, ADamagedLogIsNotUsed) {
  start(3);
  const int first = leader();
  for (int i = 0; i < 50; ++i) run(first, op_of(f::write, "k", i));
  for (int i = 0; i < 3; ++i) servers_->child(i).end(SIGTERM);
  for (const auto& file : std::filesystem::directory_iterator(servers_->node(first).folder)) {
    if (!file.path().filename().string().starts_with("wal-")) continue;
    std::fstream wal(file.path(), std::ios::in | std::ios::out | std::ios::binary);
    wal.seekg(300);
    const char byte = static_cast<char>(wal.get());
    wal.seekp(300);
    wal.put(static_cast<char>(byte ^ 1));
  }
  auto command = servers_->command(first);
  command.erase(command.begin());
  EXPECT_EQ(exit_code(command), 3);
  EXPECT_THAT(output_, HasSubstr("corrupt at byte"));
  EXPECT_EQ(lines(), 1);
}

TEST_F(ProgramTest, AnotherClusterIsNotTalkedTo) {
  start(1);
  leader();
  const NodeInfo& node = servers_->node(0);
  const int ports = free_ports(1)[0];
  const std::string peer = "127.0.0.1:" + std::to_string(ports);
  ChildProcess stranger(
      {program("assay-raft"), "--name", "n2", "--data", servers_->folder() + "/stranger",
       "--client", "127.0.0.1:" + std::to_string(free_ports(1)[0]), "--peer", peer, "--cluster",
       "n2=" + peer + ",n1=127.0.0.1:" + std::to_string(node.peer_port)},
      log_path());
  EXPECT_TRUE(loop_.run_until(
      [&] { return servers_->log(0).find("it is of another cluster") != std::string::npos; }));
  // It comes back again and again, and is logged once.
  loop_.run_for(std::chrono::milliseconds(500));
  const std::string log = servers_->log(0);
  EXPECT_EQ(log.find("another cluster"), log.rfind("another cluster"));
  stranger.end(SIGTERM);
}

TEST_F(ProgramTest, NonsenseOnThePeerPortIsRefused) {
  start(1);
  leader();
  namespace asio = boost::asio;
  const NodeInfo& node = servers_->node(0);
  NodeInfo as_http = node;
  as_http.client_port = node.peer_port;
  EXPECT_EQ(asker_.http(as_http, "GET", "/", "").fate, HttpReply::Fate::kLost);
  EXPECT_THAT(servers_->log(0), HasSubstr("refused a connection from 127.0.0.1"));
  EXPECT_FALSE(asker_.status(node).is_null());
}

// --- Beside the real thing -----------------------------------------------------------------------

std::string find_etcd() {
  for (const char* path : {"/usr/bin/etcd", "/usr/local/bin/etcd"}) {
    if (::access(path, X_OK) == 0) return path;
  }
  return "";
}

// Names, types and nesting, without the values.
nlohmann::json shape_of(const nlohmann::json& value) {
  if (value.is_object()) {
    nlohmann::json shape = nlohmann::json::object();
    for (const auto& [name, member] : value.items()) shape[name] = shape_of(member);
    return shape;
  }
  if (value.is_array()) return value.empty() ? value : nlohmann::json::array({shape_of(value[0])});
  return value.type_name();
}

TEST_F(ServerTest, AnswersAsTheEtcdOfThisMachine) {
  const std::string etcd = find_etcd();
  if (etcd.empty()) GTEST_SKIP() << "there is no etcd here (package etcd-server)";
  start(1);
  leader();
  const std::vector<int> ports = free_ports(2);
  const std::string client_url = "http://127.0.0.1:" + std::to_string(ports[0]);
  const std::string peer_url = "http://127.0.0.1:" + std::to_string(ports[1]);
  ChildProcess child(
      {etcd, "--name", "n1", "--data-dir", servers_->folder() + "/etcd", "--listen-client-urls",
       client_url, "--advertise-client-urls", client_url, "--listen-peer-urls", peer_url,
       "--initial-advertise-peer-urls", peer_url, "--initial-cluster", "n1=" + peer_url},
      servers_->folder() + "/etcd.log");
  NodeInfo theirs;
  theirs.address = "127.0.0.1";
  theirs.client_port = ports[0];
  const NodeInfo& ours = servers_->node(0);
  ASSERT_TRUE(loop_.run_until(
      [&] { return asker_.http(theirs, "GET", "/health", "").body == R"({"health":"true"})"; }));
  for (const kv::GatewayCall& call : kv::read_gateway_calls(
           std::string(ASSAY_SOURCE_DIR) + "/targets/kv/http/testdata/gateway.txt")) {
    if (call.method == "HEAD") continue;  // the client expects a body
    SCOPED_TRACE("gateway.txt:" + std::to_string(call.line));
    const HttpReply of_etcd = asker_.http(theirs, call.method, call.target, call.body);
    const HttpReply own = asker_.http(ours, call.method, call.target, call.body);
    ASSERT_EQ(own.fate, HttpReply::Fate::kAnswered);
    if (call.own_status != 0) {
      EXPECT_EQ(own.status, call.own_status);
      continue;
    }
    EXPECT_EQ(own.status, of_etcd.status) << own.body;
    EXPECT_EQ(kv::comparable(own.body), kv::comparable(of_etcd.body));
  }
  for (const char* target :
       {"/v3/maintenance/status", "/v3/maintenance/hash", "/v3/cluster/member/list"}) {
    const HttpReply of_etcd = asker_.http(theirs, "POST", target, "{}");
    const HttpReply own = asker_.http(ours, "POST", target, "{}");
    EXPECT_EQ(own.status, of_etcd.status);
    EXPECT_EQ(shape_of(nlohmann::json::parse(own.body)),
              shape_of(nlohmann::json::parse(of_etcd.body)))
        << target;
  }
  EXPECT_EQ(shape_of(nlohmann::json::parse(asker_.http(ours, "GET", "/version", "").body)),
            shape_of(nlohmann::json::parse(asker_.http(theirs, "GET", "/version", "").body)));
}

}  // namespace
}  // namespace assay::raft
