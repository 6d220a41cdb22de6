// The small language of the recorded transcripts (testdata/record_etcd.py): requests from text, and
// results as text. Tests only.
//
//   put KEY VALUE p|-            get KEY END|- LIMIT REVISION k|c|-       del KEY END|- p|-
//   compact REVISION             txn [ ( TARGET KEY END|- = NUMBER|VALUE ) … ] [ OP … ] [ OP … ]
#pragma once

#include <sstream>
#include <stdexcept>
#include <string>

#include "targets/kv/service/kv.h"

namespace assay::kv {

class TranscriptReader {
 public:
  static Request request(const std::string& line) {
    TranscriptReader reader(line);
    const std::string word = reader.word();
    if (word == "compact") return CompactionRequest{{reader.number()}};
    return std::visit([](auto&& body) -> Request { return std::move(body); }, reader.op(word).body);
  }

 private:
  explicit TranscriptReader(const std::string& line) : in_(line) {}

  std::string word() {
    std::string word;
    if (!(in_ >> word)) throw std::runtime_error("line too short");
    return word;
  }
  int64_t number() { return std::stoll(word()); }
  std::string end() {
    const std::string end = word();
    if (end == "-") return "";
    return end == "\\0" ? std::string(1, '\0') : end;
  }
  bool flag(const std::string& which) { return word() == which; }
  void expect(const std::string& wanted) {
    const std::string found = word();
    if (found != wanted) throw std::runtime_error("expected " + wanted + ", found " + found);
  }

  RequestOp op(const std::string& kind) {
    if (kind == "put") {
      PutRequest put;
      put.key = word();
      put.value = word();
      put.prev_kv = flag("p");
      return {put};
    }
    if (kind == "del") {
      DeleteRangeRequest del;
      del.key = word();
      del.range_end = end();
      del.prev_kv = flag("p");
      return {del};
    }
    if (kind == "get") {
      RangeRequest range;
      range.key = word();
      range.range_end = end();
      range.limit = number();
      range.revision.value = number();
      const std::string flags = word();
      range.keys_only = flags == "k";
      range.count_only = flags == "c";
      return {range};
    }
    if (kind == "txn") return {txn()};
    throw std::runtime_error("unknown request " + kind);
  }
  TxnRequest txn() {
    TxnRequest txn;
    expect("[");
    for (std::string next = word(); next != "]"; next = word()) txn.compare.push_back(compare());
    for (auto* ops : {&txn.success, &txn.failure}) {
      expect("[");
      for (std::string next = word(); next != "]"; next = word()) ops->push_back(op(next));
    }
    return txn;
  }
  Compare compare() {
    Compare compare;
    const std::string target = word();
    compare.target = target == "version"  ? CompareTarget::kVersion
                     : target == "create" ? CompareTarget::kCreate
                     : target == "mod"    ? CompareTarget::kMod
                                          : CompareTarget::kValue;
    compare.key = word();
    compare.range_end = end();
    const std::string result = word();
    compare.result = result == "="   ? CompareResult::kEqual
                     : result == ">" ? CompareResult::kGreater
                     : result == "<" ? CompareResult::kLess
                                     : CompareResult::kNotEqual;
    if (compare.target == CompareTarget::kValue) {
      compare.value = word();
    } else {
      compare.number = number();
    }
    expect(")");
    return compare;
  }

  std::istringstream in_;
};

class TranscriptWriter {
 public:
  static std::string show(const Result& result) {
    TranscriptWriter writer;
    if (const auto* error = std::get_if<Error>(&result)) {
      writer.out_ << "error " << error->code << " " << error->message;
    } else {
      writer.response(std::get<Response>(result));
    }
    return writer.out_.str();
  }

 private:
  void kv(const KeyValue& kv) {
    out_ << kv.key << ":" << kv.create_revision.value << ":" << kv.mod_revision.value << ":"
         << kv.version << ":" << kv.value;
  }
  void kvs(const std::vector<KeyValuePtr>& kvs) {
    out_ << "[";
    for (size_t i = 0; i < kvs.size(); ++i) {
      if (i > 0) out_ << " ";
      kv(*kvs[i]);
    }
    out_ << "]";
  }
  void response(const Response& response) {
    const int64_t revision = response.revision.value;
    if (const auto* range = std::get_if<RangeResponse>(&response.body)) {
      out_ << "get rev=" << revision << " count=" << range->count << " more=" << range->more << " ";
      kvs(range->kvs);
    } else if (const auto* put = std::get_if<PutResponse>(&response.body)) {
      out_ << "put rev=" << revision << " ";
      put->prev_kv ? kv(*put->prev_kv) : void(out_ << "-");
    } else if (const auto* del = std::get_if<DeleteRangeResponse>(&response.body)) {
      out_ << "del rev=" << revision << " deleted=" << del->deleted << " ";
      kvs(del->prev_kvs);
    } else if (const auto* txn = std::get_if<TxnResponse>(&response.body)) {
      out_ << "txn rev=" << revision << " ok=" << txn->succeeded << " { ";
      for (const Response& nested : txn->responses) {
        this->response(nested);
        out_ << " ; ";
      }
      out_ << "}";
    } else {
      out_ << "compact rev=" << revision;
    }
  }

  std::ostringstream out_;
};

}  // namespace assay::kv
