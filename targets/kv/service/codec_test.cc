#include "targets/kv/service/codec.h"

#include <gtest/gtest.h>

#include <random>

#include "targets/kv/service/bytes.h"
#include "targets/kv/service/validate.h"

namespace assay::kv {
namespace {

std::string encoded(const Request& request) {
  std::string out;
  encode(request, out);
  return out;
}

// Random requests with every field in play.
class Draw {
 public:
  explicit Draw(uint64_t seed) : rng_(seed) {}

  Request request() {
    switch (below(5)) {
      case 0:
        return range();
      case 1:
        return put();
      case 2:
        return del();
      case 3:
        return txn(3);
      default:
        return CompactionRequest{{number()}};
    }
  }
  uint64_t below(uint64_t bound) { return rng_() % bound; }

 private:
  bool flag() { return below(2) == 1; }
  int64_t number() {
    const auto bits = below(65);
    return bits == 0 ? 0 : static_cast<int64_t>(rng_() >> (64 - bits));
  }
  std::string bytes() {
    std::string out(below(4) == 0 ? below(300) : below(6), '\0');
    for (char& c : out) c = static_cast<char>(below(256));
    return out;
  }
  RangeRequest range() {
    return {bytes(), bytes(), number(), Revision{number()}, flag(), flag(), flag()};
  }
  PutRequest put() { return {bytes(), bytes(), flag()}; }
  DeleteRangeRequest del() { return {bytes(), bytes(), flag()}; }
  Compare compare() {
    Compare compare;
    compare.target = static_cast<CompareTarget>(below(4));
    compare.result = static_cast<CompareResult>(below(4));
    compare.key = bytes();
    compare.range_end = bytes();
    if (compare.target == CompareTarget::kValue) {
      compare.value = bytes();
    } else {
      compare.number = number();
    }
    return compare;
  }
  TxnRequest txn(int depth) {
    TxnRequest txn;
    for (uint64_t i = below(4); i > 0; --i) txn.compare.push_back(compare());
    for (auto* ops : {&txn.success, &txn.failure}) {
      for (uint64_t i = below(4); i > 0; --i) ops->push_back(op(depth));
    }
    return txn;
  }
  RequestOp op(int depth) {
    switch (below(depth > 0 ? 4 : 3)) {
      case 0:
        return {range()};
      case 1:
        return {put()};
      case 2:
        return {del()};
      default:
        return {txn(depth - 1)};
    }
  }

  std::mt19937_64 rng_;
};

TEST(Codec, RandomRequestsSurviveTheRoundTrip) {
  Draw draw(1);
  for (int i = 0; i < 5000; ++i) {
    const std::string bytes = encoded(draw.request());
    const auto decoded = decode(bytes);
    ASSERT_TRUE(decoded.has_value());
    EXPECT_EQ(encoded(*decoded), bytes);
  }
}

TEST(Codec, FieldsComeBackAsTheyWere) {
  RangeRequest range{"k", std::string("\0", 1), -3, Revision{int64_t{1} << 62}, true, false, true};
  const auto decoded = decode(encoded(range));
  ASSERT_TRUE(decoded.has_value());
  const auto& back = std::get<RangeRequest>(*decoded);
  EXPECT_EQ(back.key, "k");
  EXPECT_EQ(back.range_end, std::string("\0", 1));
  EXPECT_EQ(back.limit, -3);
  EXPECT_EQ(back.revision, (Revision{int64_t{1} << 62}));
  EXPECT_TRUE(back.serializable);
  EXPECT_FALSE(back.keys_only);
  EXPECT_TRUE(back.count_only);
}

TEST(Codec, EveryTruncationAndEveryTrailingByteIsRefused) {
  Draw draw(2);
  for (int i = 0; i < 300; ++i) {
    const std::string bytes = encoded(draw.request());
    for (size_t length = 0; length < bytes.size(); ++length) {
      ASSERT_FALSE(decode(std::string_view(bytes).substr(0, length)).has_value());
    }
    ASSERT_FALSE(decode(bytes + '\0').has_value());
  }
}

// What decodes after a flipped bit is another request in its one form, never a second form of any.
TEST(Codec, ThereIsOneFormOfEachRequest) {
  Draw draw(3);
  for (int i = 0; i < 20000; ++i) {
    std::string bytes = encoded(draw.request());
    for (uint64_t flips = 1 + draw.below(3); flips > 0; --flips) {
      bytes[draw.below(bytes.size())] ^= static_cast<char>(1u << draw.below(8));
    }
    const auto decoded = decode(bytes);
    if (decoded) {
      ASSERT_EQ(encoded(*decoded), bytes);
    }
  }
}

TEST(Codec, DepthIsBounded) {
  TxnRequest txn;
  for (int depth = 1; depth < kTxnDepthMax; ++depth) txn = TxnRequest{{}, {{txn}}, {}};
  EXPECT_TRUE(decode(encoded(txn)).has_value());
  txn = TxnRequest{{}, {{txn}}, {}};
  EXPECT_FALSE(decode(encoded(txn)).has_value());
}

TEST(Bytes, VarintsMustBeShortAndFit) {
  const auto read = [](std::string bytes) {
    ByteReader reader(bytes);
    const uint64_t value = reader.varint();
    return reader.done() ? std::to_string(value) : std::string("refused");
  };
  EXPECT_EQ(read("\x7f"), "127");
  EXPECT_EQ(read("\x80\x01"), "128");
  EXPECT_EQ(read(std::string("\x80\x00", 2)), "refused");
  EXPECT_EQ(read("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), "18446744073709551615");
  EXPECT_EQ(read("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02"), "refused");
  EXPECT_EQ(read("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x81\x01"), "refused");
  EXPECT_EQ(read("\x80"), "refused");
}

TEST(Bytes, SignedNumbersSurviveTheRoundTrip) {
  for (int64_t value : {int64_t{0}, int64_t{-1}, int64_t{1}, INT64_MIN, INT64_MAX, int64_t{-300}}) {
    std::string bytes;
    ByteWriter(bytes).signed_varint(value);
    ByteReader reader(bytes);
    EXPECT_EQ(reader.signed_varint(), value);
    EXPECT_TRUE(reader.done());
  }
}

}  // namespace
}  // namespace assay::kv
