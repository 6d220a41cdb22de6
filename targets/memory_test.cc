#include "targets/memory.h"

#include <gtest/gtest.h>

#include "checkers/history/watch_value.h"
#include "targets/virtual_loop.h"

namespace assay {
namespace {

class MemoryTest : public testing::Test {
 protected:
  MemoryTest() {
    auto made = memory_target().make({{"latency-us", "0"}}, 7);
    EXPECT_TRUE(made.ok());
    target_ = std::move(*made);
    target_->open_client(loop_, {}, [this](Result<std::unique_ptr<Client>> opened) {
      client_ = std::move(*opened);
    });
    loop_.run();
  }
  Op run(Symbol f, Value value, Token expected = {}) {
    Op op, done;
    op.f = f;
    op.key = Symbol("k");
    op.value = std::move(value);
    op.expected = expected;
    client_->invoke(op, [&](Op completion) { done = std::move(completion); });
    loop_.run();
    return done;
  }

  VirtualLoop loop_;
  std::unique_ptr<Target> target_;
  std::unique_ptr<Client> client_;
};

TEST_F(MemoryTest, AGuardedWriteThatDoesNotMatchChangesNothing) {
  const Op first = run(f::write, 1, Token(0));
  ASSERT_EQ(first.type, OpType::kOk);
  const Op conflict = run(f::write, 2, Token(0));
  ASSERT_EQ(conflict.type, OpType::kFail);
  EXPECT_EQ(conflict.error->cls.text(), "conflict");
  EXPECT_EQ(conflict.error->current, first.revision);
  EXPECT_EQ(run(f::read, {}).value, Value(1));
  EXPECT_EQ(run(f::write, 2, first.revision).type, OpType::kOk);
  EXPECT_EQ(run(f::read, {}).value, Value(2));
}

TEST_F(MemoryTest, AWatchIsToldWhatHappensFromWhereItBegins) {
  run(Symbol("list"), {});
  run(f::write, 1);   // 1
  run(f::write, 2);   // 2
  run(f::delete_, {});  // 3
  run(f::txn, Value::array({Value::array({Value("w"), Value("k1"), Value(7)}),
                            Value::array({Value("w"), Value("x"), Value(8)})}));  // 4
  const Op done = run(f::watch, to_value(WatchWish{Symbol("k"), 2, milliseconds(100)}));
  EXPECT_EQ(done.value.to_json(),
            R"({"events":[[2,"k","put",2,[1,1]],[3,"k","delete",null,[2,2]],)"
            R"([4,"k1","put",7,null]],"progress":[],"next":5,"end":"done"})");
}

TEST_F(MemoryTest, AWatchFromBeforeTheCompactionIsToldThatItIsForgotten) {
  run(Symbol("list"), {});
  for (int i = 0; i < 5; ++i) run(f::write, i);
  EXPECT_EQ(run(Symbol("compact"), 4).type, OpType::kOk);
  EXPECT_EQ(run(Symbol("compact"), 4).type, OpType::kFail);
  EXPECT_EQ(run(Symbol("compact"), 9).type, OpType::kFail);
  const Op gone = run(f::watch, to_value(WatchWish{Symbol("k"), 3, seconds(1)}));
  EXPECT_EQ(gone.value.to_json(),
            R"({"events":[],"progress":[],"next":3,"end":"compacted","compact_revision":4})");
  const Op kept = run(f::watch, to_value(WatchWish{Symbol("k"), 4, seconds(1)}));
  EXPECT_EQ(watch_seen(kept.value)->events.size(), 2u);
}

TEST_F(MemoryTest, AListIsTheLiveKeysOfAPrefix) {
  run(f::write, 1);
  EXPECT_EQ(run(Symbol("list"), {}).value.to_json(), R"([["k",1,1]])");
  run(f::delete_, {});
  EXPECT_EQ(run(Symbol("list"), {}).value.to_json(), "[]");
}

}  // namespace
}  // namespace assay
