#include "targets/kv/service/codec.h"

#include "targets/kv/service/bytes.h"
#include "targets/kv/service/validate.h"

namespace assay::kv {
namespace {

// The tag of a body is its place in the variant Request.
constexpr uint8_t kRangeTag = 0;
constexpr uint8_t kPutTag = 1;
constexpr uint8_t kDeleteRangeTag = 2;
constexpr uint8_t kTxnTag = 3;
constexpr uint8_t kCompactionTag = 4;

class Encoder {
 public:
  explicit Encoder(std::string& out) : out_(out) {}

  void operator()(const RangeRequest& range) {
    out_.u8(kRangeTag);
    out_.string(range.key);
    out_.string(range.range_end);
    out_.signed_varint(range.limit);
    out_.signed_varint(range.revision.value);
    out_.u8(static_cast<uint8_t>((range.serializable ? 1 : 0) | (range.keys_only ? 2 : 0) |
                                 (range.count_only ? 4 : 0)));
  }
  void operator()(const PutRequest& put) {
    out_.u8(kPutTag);
    out_.string(put.key);
    out_.string(put.value);
    out_.u8(put.prev_kv ? 1 : 0);
  }
  void operator()(const DeleteRangeRequest& del) {
    out_.u8(kDeleteRangeTag);
    out_.string(del.key);
    out_.string(del.range_end);
    out_.u8(del.prev_kv ? 1 : 0);
  }
  void operator()(const TxnRequest& txn) {
    out_.u8(kTxnTag);
    out_.varint(txn.compare.size());
    for (const Compare& compare : txn.compare) {
      out_.u8(static_cast<uint8_t>(compare.target));
      out_.u8(static_cast<uint8_t>(compare.result));
      out_.string(compare.key);
      out_.string(compare.range_end);
      if (compare.target == CompareTarget::kValue) {
        out_.string(compare.value);
      } else {
        out_.signed_varint(compare.number);
      }
    }
    for (const auto* ops : {&txn.success, &txn.failure}) {
      out_.varint(ops->size());
      for (const RequestOp& op : *ops) std::visit(*this, op.body);
    }
  }
  void operator()(const CompactionRequest& compaction) {
    out_.u8(kCompactionTag);
    out_.signed_varint(compaction.revision.value);
  }

 private:
  ByteWriter out_;
};

class Decoder {
 public:
  explicit Decoder(std::string_view bytes) : in_(bytes) {}

  std::optional<Request> request() {
    Request request;
    switch (in_.upto(kCompactionTag)) {
      case kRangeTag:
        request = range();
        break;
      case kPutTag:
        request = put();
        break;
      case kDeleteRangeTag:
        request = delete_range();
        break;
      case kTxnTag:
        request = txn(1);
        break;
      case kCompactionTag:
        request = CompactionRequest{{in_.signed_varint()}};
        break;
    }
    if (!in_.done()) return std::nullopt;
    return request;
  }

 private:
  std::string string() { return std::string(in_.string()); }

  RangeRequest range() {
    RangeRequest range;
    range.key = string();
    range.range_end = string();
    range.limit = in_.signed_varint();
    range.revision.value = in_.signed_varint();
    const uint8_t flags = in_.upto(7);
    range.serializable = (flags & 1) != 0;
    range.keys_only = (flags & 2) != 0;
    range.count_only = (flags & 4) != 0;
    return range;
  }
  PutRequest put() {
    PutRequest put;
    put.key = string();
    put.value = string();
    put.prev_kv = in_.upto(1) != 0;
    return put;
  }
  DeleteRangeRequest delete_range() {
    DeleteRangeRequest del;
    del.key = string();
    del.range_end = string();
    del.prev_kv = in_.upto(1) != 0;
    return del;
  }
  Compare compare() {
    Compare compare;
    compare.target = static_cast<CompareTarget>(in_.upto(3));
    compare.result = static_cast<CompareResult>(in_.upto(3));
    compare.key = string();
    compare.range_end = string();
    if (compare.target == CompareTarget::kValue) {
      compare.value = string();
    } else {
      compare.number = in_.signed_varint();
    }
    return compare;
  }
  TxnRequest txn(int depth) {
    TxnRequest txn;
    if (depth > kTxnDepthMax) {
      in_.fail();
      return txn;
    }
    for (uint64_t left = in_.count(); left > 0 && in_.ok(); --left) {
      txn.compare.push_back(compare());
    }
    for (auto* ops : {&txn.success, &txn.failure}) {
      for (uint64_t left = in_.count(); left > 0 && in_.ok(); --left) ops->push_back(op(depth));
    }
    return txn;
  }
  RequestOp op(int depth) {
    switch (in_.upto(kTxnTag)) {
      case kRangeTag:
        return {range()};
      case kPutTag:
        return {put()};
      case kDeleteRangeTag:
        return {delete_range()};
      default:
        return {txn(depth + 1)};
    }
  }

  ByteReader in_;
};

}  // namespace

void encode(const Request& request, std::string& out) { std::visit(Encoder(out), request); }

std::optional<Request> decode(std::string_view bytes) { return Decoder(bytes).request(); }

}  // namespace assay::kv
