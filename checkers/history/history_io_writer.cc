#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>

#include "checkers/history/history_io.h"
#include "checkers/history/history_io_fields.h"

namespace assay {
namespace {

constexpr size_t kBufferBytes = 64 * 1024;

void append_int(std::string& out, int64_t number) {
  char digits[24];
  out.append(digits, std::to_chars(digits, digits + sizeof digits, number).ptr);
}

void append_process(std::string& out, Process process) {
  if (process == kNemesis) {
    out += "\"nemesis\"";
  } else if (process == kObserver) {
    out += "\"observer\"";
  } else {
    append_int(out, process.id);
  }
}

void append_token(std::string& out, std::string_view name, Token token) {
  if (token.none()) return;
  out += name;
  if (token.is_number()) {
    append_int(out, token.number());
  } else {
    append_json_string(out, token.text().text());
  }
}

void append_symbol(std::string& out, std::string_view name, Symbol symbol) {
  if (symbol.empty()) return;
  out += name;
  append_json_string(out, symbol.text());
}

// The members of an object, after others.
void append_members(std::string& out, const Value& object) {
  if (object.is_null()) return;
  for (const auto& [name, value] : object.as_object()) {
    out += ',';
    append_json_string(out, name.text());
    out += ':';
    value.append_json(out);
  }
}

void append_error(std::string& out, const OpError& error) {
  out += ",\"error\":{\"class\":";
  append_json_string(out, error.cls.text());
  if (!error.text.empty()) {
    out += ",\"text\":";
    append_json_string(out, error.text);
  }
  append_token(out, ",\"current\":", error.current);
  append_members(out, error.extra);
  out += '}';
}

void append_extra(std::string& out, const Value& extra) {
  if (extra.is_null()) return;
  for (const auto& member : extra.as_object())
    ASSAY_CHECK(!is_op_field(member.first), "\"%s\" has a field of its own",
                std::string(member.first.text()).c_str());
  append_members(out, extra);
}

}  // namespace

void append_line(std::string& out, const Op& op) {
  out += '{';
  if (op.index >= 0) {
    out += "\"index\":";
    append_int(out, op.index);
    out += ',';
  }
  if (op.time.count >= 0) {
    out += "\"time\":";
    append_int(out, op.time.count);
    out += ',';
  }
  out += "\"process\":";
  append_process(out, op.process);
  out += ",\"type\":\"";
  out += to_string(op.type);
  out += "\",\"f\":";
  append_json_string(out, op.f.text());
  append_symbol(out, ",\"key\":", op.key);
  if (!op.value.is_null()) {
    out += ",\"value\":";
    op.value.append_json(out);
  }
  append_symbol(out, ",\"node\":", op.node);
  append_token(out, ",\"revision\":", op.revision);
  append_token(out, ",\"at\":", op.at);
  append_token(out, ",\"expected\":", op.expected);
  if (op.error) append_error(out, *op.error);
  if (op.scheduled.count >= 0) {
    out += ",\"scheduled\":";
    append_int(out, op.scheduled.count);
  }
  append_extra(out, op.extra);
  out += "}\n";
}

std::string header_line(const Value& extra) {
  std::string out = R"({"format":"assay-history","version":1,"time_unit":"ns")";
  if (!extra.is_null()) {
    for (const char* name : {"format", "version", "time_unit"})
      ASSAY_CHECK(extra[name].is_null(), "\"%s\" of the header is not the caller's", name);
    append_members(out, extra);
  }
  out += "}\n";
  return out;
}

HistoryWriter::HistoryWriter() { buffer_.reserve(kBufferBytes + 4096); }

HistoryWriter::~HistoryWriter() {
  if (fd_ >= 0) (void)close();
}

Result<void> HistoryWriter::open(const std::string& path, const Value& header) {
  ASSAY_CHECK(fd_ < 0, "%s is open", path_.c_str());
  path_ = path;
  error_.clear();
  fd_ = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (fd_ < 0) {
    error_ = "cannot create " + path + ": " + std::strerror(errno);
    return environment_error(error_);
  }
  buffer_ = header_line(header);
  return flush();
}

Result<void> HistoryWriter::add(const Op& op) {
  if (error_.empty() && fd_ < 0) error_ = "the history is not open";
  if (!error_.empty()) return environment_error(error_);
  append_line(buffer_, op);
  return buffer_.size() < kBufferBytes ? Result<void>() : flush();
}

Result<void> HistoryWriter::flush() {
  if (!error_.empty()) return environment_error(error_);
  std::string_view left = buffer_;
  while (!left.empty()) {
    const ssize_t n = ::write(fd_, left.data(), left.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) {
      error_ = "cannot write " + path_ + ": " + std::strerror(errno);
      return environment_error(error_);
    }
    left.remove_prefix(n);
  }
  buffer_.clear();
  return {};
}

Result<void> HistoryWriter::close() {
  Result<void> flushed = flush();
  if (fd_ < 0) return flushed;
  // Pipes and devices have nothing to sync.
  if (flushed && ::fsync(fd_) != 0 && errno != EINVAL && errno != ENOTSUP && errno != EROFS) {
    error_ = "cannot sync " + path_ + ": " + std::strerror(errno);
    flushed = environment_error(error_);
  }
  if (::close(fd_) != 0 && flushed && errno != EINTR) {
    error_ = "cannot close " + path_ + ": " + std::strerror(errno);
    flushed = environment_error(error_);
  }
  fd_ = -1;
  return flushed;
}

}  // namespace assay
