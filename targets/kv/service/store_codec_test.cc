#include "targets/kv/service/store_codec.h"

#include <gtest/gtest.h>

#include "targets/kv/service/service.h"
#include "targets/raft/core/random.h"

namespace assay::kv {
namespace {

std::string encoded(const Store& store, size_t slice = SIZE_MAX) {
  StoreEncoder encoder(store);
  std::string out;
  while (!encoder.done()) encoder.encode(out, std::min<size_t>(slice, 1 << 30));
  return out;
}

std::string shown(const std::vector<KeyValuePtr>& kvs) {
  std::string out;
  for (const KeyValuePtr& kv : kvs) {
    out += kv->key + ":" + std::to_string(kv->create_revision.value) + ":" +
           std::to_string(kv->mod_revision.value) + ":" + std::to_string(kv->version) + "=" +
           kv->value + " ";
  }
  return out;
}

// All that can be asked of a store.
void expect_equal(const Store& a, const Store& b) {
  ASSERT_EQ(a.revision(), b.revision());
  ASSERT_EQ(a.compacted(), b.compacted());
  ASSERT_EQ(a.state_hash(), b.state_hash());
  ASSERT_EQ(a.live_keys(), b.live_keys());
  ASSERT_EQ(shown(a.events({}, SIZE_MAX)), shown(b.events({}, SIZE_MAX)));
  for (Revision at = a.compacted(); at <= a.revision(); at = at + 1) {
    const auto all = [&](const Store& store) {
      return shown(store.range("\0", std::string(1, '\0'), at, 0).kvs);
    };
    ASSERT_EQ(all(a), all(b)) << "at revision " << at.value;
  }
}

Request draw(raft::Random& random, Revision now) {
  const std::string key = "k" + std::to_string(random.between(1, 6));
  switch (random.between(0, 9)) {
    case 0:
      return CompactionRequest{{random.between(1, static_cast<int>(now.value))}};
    case 1:
    case 2:
      return DeleteRangeRequest{key, "", false};
    case 3: {
      TxnRequest txn;
      txn.success = {{PutRequest{"t1", std::to_string(random.next()), false}},
                     {DeleteRangeRequest{"k1", "k4", false}}};
      return txn;
    }
    default:
      return PutRequest{key, std::string(static_cast<size_t>(random.between(0, 30)), 'x'), false};
  }
}

Store decoded(const std::string& bytes) {
  StoreDecoder decoder;
  EXPECT_EQ(decoder.take(bytes), bytes.size());
  EXPECT_TRUE(decoder.done());
  return decoder.release();
}

TEST(StoreCodec, AnyStoreIsReadBackAndGoesOnAlike) {
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    raft::Random random(seed);
    Service service;
    for (int i = 0; i < 60; ++i) service.apply(draw(random, service.revision()));
    const std::string bytes = encoded(service.store());
    Service restored;
    restored.restore(decoded(bytes));
    expect_equal(service.store(), restored.store());
    ASSERT_EQ(encoded(restored.store()), bytes);
    for (int i = 0; i < 20; ++i) {
      const Request request = draw(random, service.revision());
      service.apply(request);
      restored.apply(request);
    }
    expect_equal(service.store(), restored.store());
  }
}

TEST(StoreCodec, TokensThatAreNoRevisionsStay) {
  for (const TokenKind kind :
       {TokenKind::kContentHash, TokenKind::kKeyCounter, TokenKind::kWallClock}) {
    Service service({.token = kind});
    service.apply(PutRequest{"k", "before", false}, 1234);
    Service restored({.token = kind});
    restored.restore(decoded(encoded(service.store())));
    EXPECT_NE(restored.store().get("k")->token, 0);
    EXPECT_EQ(restored.store().get("k")->token, service.store().get("k")->token);
    EXPECT_EQ(restored.store().tokens(), kind);
    service.apply(PutRequest{"k", "after", false}, 2345);
    restored.apply(PutRequest{"k", "after", false}, 2345);
    EXPECT_EQ(restored.store().get("k")->token, service.store().get("k")->token);
  }
}

TEST(StoreCodec, SlicesDoNotShowInTheBytes) {
  Service service;
  for (int i = 0; i < 50; ++i) service.apply(PutRequest{"k" + std::to_string(i), "v", false});
  const std::string whole = encoded(service.store());
  EXPECT_EQ(encoded(service.store(), 1), whole);
  StoreDecoder decoder;
  std::string carried;
  for (const char byte : whole) {
    carried += byte;
    carried.erase(0, decoder.take(carried));
  }
  EXPECT_TRUE(decoder.done());
  expect_equal(decoder.release(), service.store());
}

TEST(StoreCodec, IsOfTheMomentThoughTheStoreChanges) {
  Service service;
  service.apply(PutRequest{"k", "before", false});
  StoreEncoder encoder(service.store());
  const std::string before = encoded(service.store());
  service.apply(PutRequest{"k", "after", false});
  service.apply(CompactionRequest{service.revision()});
  std::string out;
  while (!encoder.done()) encoder.encode(out, 1);
  EXPECT_EQ(out, before);
}

TEST(StoreCodec, WhatIsNoStoreIsRefused) {
  Service service;
  for (const char* key : {"a", "b", "c"}) service.apply(PutRequest{key, "v", false});
  service.apply(CompactionRequest{{3}});
  service.apply(DeleteRangeRequest{"b", "", false});
  const std::string whole = encoded(service.store());
  int refused = 0;
  for (size_t at = 0; at < whole.size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string bytes = whole;
      bytes[at] ^= static_cast<char>(1 << bit);
      StoreDecoder decoder;
      const size_t taken = decoder.take(bytes);
      if (!decoder.done()) {
        ++refused;
        continue;
      }
      ASSERT_EQ(encoded(decoder.release()), bytes.substr(0, taken)) << at << " bit " << bit;
    }
  }
  EXPECT_GT(refused, 100);
}

TEST(StoreCodec, ATokenThatIsNoRevisionComesBack) {
  Service service({.token = TokenKind::kWallClock});
  service.apply(PutRequest{.key = "a", .value = "x"}, 1234);
  StoreDecoder decoder;
  decoder.take(encoded(service.store()));
  ASSERT_TRUE(decoder.done());
  EXPECT_EQ(decoder.release().get("a")->token, 1234);
}

}  // namespace
}  // namespace assay::kv
