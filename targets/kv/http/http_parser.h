// HttpParser: Beast's incremental parser, told to keep only what this folder needs; and the bytes
// that it is fed with. Heavy to include: for http_server.cc and http_client.cc alone.
#pragma once

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/beast/http/basic_parser.hpp>
#include <cstring>
#include <string>
#include <vector>

namespace assay {

template <bool is_request>
class HttpParser : public boost::beast::http::basic_parser<is_request> {
  using Error = boost::beast::error_code;
  using Text = boost::beast::string_view;
  using Verb = boost::beast::http::verb;
  using Field = boost::beast::http::field;
  using Length = boost::optional<uint64_t>;

 public:
  HttpParser(size_t header_bytes_max, size_t body_bytes_max) {
    this->header_limit(static_cast<uint32_t>(header_bytes_max));
    this->body_limit(body_bytes_max);
    this->eager(true);
  }

  std::string method;
  std::string target;
  int version = 11;  // 10 or 11
  int status = 0;
  std::string body;
  bool expects_continue = false;

 private:
  void on_request_impl(Verb, Text verb, Text path, int v, Error&) override {
    method.assign(verb.data(), verb.size());
    target.assign(path.data(), path.size());
    version = v;
  }
  void on_response_impl(int code, Text, int, Error&) override { status = code; }
  void on_field_impl(Field name, Text, Text value, Error&) override {
    if (name != Field::expect) return;
    expects_continue = boost::beast::iequals(value, "100-continue");
  }
  void on_header_impl(Error&) override {}
  void on_body_init_impl(const Length& length, Error&) override {
    // A length is a claim, not yet memory: beyond this the body grows as it comes.
    if (length) body.reserve(std::min<uint64_t>(*length, 64 * 1024));
  }
  size_t on_body_impl(Text piece, Error&) override {
    body.append(piece.data(), piece.size());
    return piece.size();
  }
  void on_chunk_header_impl(uint64_t, Text, Error&) override {}
  size_t on_chunk_body_impl(uint64_t, Text piece, Error&) override {
    body.append(piece.data(), piece.size());
    return piece.size();
  }
  void on_finish_impl(Error&) override {}
};

// The bytes that were read and not yet parsed.
class InputBuffer {
 public:
  // Room to read into; it grows while reads fill it.
  boost::asio::mutable_buffer room() {
    if (begin_ > 0) {
      std::memmove(bytes_.data(), bytes_.data() + begin_, size());
      end_ -= begin_;
      begin_ = 0;
    }
    if (end_ == bytes_.size()) bytes_.resize(bytes_.empty() ? 4096 : 2 * bytes_.size());
    return {bytes_.data() + end_, bytes_.size() - end_};
  }
  void filled(size_t count) { end_ += count; }
  boost::asio::const_buffer unread() const { return {bytes_.data() + begin_, size()}; }
  void consume(size_t count) {
    begin_ += count;
    if (begin_ == end_) begin_ = end_ = 0;
  }
  size_t size() const { return end_ - begin_; }

 private:
  std::vector<char> bytes_;
  size_t begin_ = 0;
  size_t end_ = 0;
};

}  // namespace assay
