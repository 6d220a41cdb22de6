#include "targets/memory.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace assay
