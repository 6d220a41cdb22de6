#include "checkers/history/history_export.h"

#include <algorithm>

#include "checkers/history/compressed.h"
#include "checkers/history/history_io_fields.h"
#include "checkers/history/history_readers.h"

namespace assay {
namespace {

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

bool is_in_word(char c) { return is_letter(c) || (c >= '0' && c <= '9') || c == '-' || c == '?'; }

// Every reader of EDN takes :text, and gives the text back.
bool is_edn_keyword(std::string_view text) {
  return !text.empty() && is_letter(text[0]) && std::all_of(text.begin(), text.end(), is_in_word);
}

void append_edn_string(std::string& out, std::string_view text) {
  static constexpr char kHex[] = "0123456789abcdef";
  out += '"';
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (static_cast<unsigned char>(c) < 0x20) {
      out += "\\u00";
      out += kHex[c >> 4];
      out += kHex[c & 15];
    } else {
      out += c;
    }
  }
  out += '"';
}

void append_edn_word(std::string& out, std::string_view text) {
  if (!is_edn_keyword(text)) return append_edn_string(out, text);
  out += ':';
  out += text;
}

void append_edn(std::string& out, const Value& value) {
  if (value.is_null()) {
    out += "nil";
  } else if (value.is_string()) {
    append_edn_string(out, value.as_text());
  } else if (value.is_array()) {
    out += '[';
    for (size_t i = 0; i < value.as_array().size(); ++i) {
      if (i > 0) out += ' ';
      append_edn(out, value.as_array()[i]);
    }
    out += ']';
  } else if (value.is_object()) {
    out += '{';
    const char* separator = "";
    for (const auto& [name, member] : value.as_object()) {
      out += separator;
      append_edn_word(out, name.text());
      out += ' ';
      append_edn(out, member);
      separator = ", ";
    }
    out += '}';
  } else {
    value.append_json(out);  // numbers and booleans are alike
  }
}

// One member of an operation's map, after others.
void append_edn_field(std::string& out, std::string_view name, const Value& value) {
  out += ", :";
  out += name;
  out += ' ';
  append_edn(out, value);
}

void append_edn_text(std::string& out, std::string_view name, Symbol text) {
  if (!text.empty()) append_edn_field(out, name, text);
}

void append_edn_token(std::string& out, std::string_view name, Token token) {
  if (!token.none()) append_edn_field(out, name, token.to_value());
}

void append_edn_error(std::string& out, const OpError& error) {
  out += ", :error ";
  const bool is_class_alone = error.text.empty() && error.current.none() && error.extra.is_null();
  if (is_class_alone) return append_edn_word(out, error.cls.text());
  out += "{:class ";
  append_edn_word(out, error.cls.text());
  if (!error.text.empty()) append_edn_field(out, "text", error.text);
  append_edn_token(out, "current", error.current);
  if (error.extra.is_object()) {
    for (const auto& [name, value] : error.extra.as_object()) {
      out += ", ";
      append_edn_word(out, name.text());
      out += ' ';
      append_edn(out, value);
    }
  }
  out += '}';
}

// A field of the name of one of ours, but not of its kind, was kept as ":name".
void append_edn_extra(std::string& out, const Value& extra) {
  if (!extra.is_object()) return;
  for (const auto& [name, value] : extra.as_object()) {
    std::string_view text = name.text();
    if (text.starts_with(':') && is_op_field(Symbol(text.substr(1)))) text.remove_prefix(1);
    out += ", ";
    append_edn_word(out, text);
    out += ' ';
    append_edn(out, value);
  }
}

void append_edn_process(std::string& out, Process process) {
  if (process == kNemesis) {
    out += ":nemesis";
  } else if (process == kObserver) {
    out += ":observer";
  } else {
    out += std::to_string(process.id);
  }
}

void append_edn_numbers(std::string& out, const Op& op) {
  out += '{';
  if (op.index >= 0) out += ":index " + std::to_string(op.index) + ", ";
  if (op.time.count >= 0) out += ":time " + std::to_string(op.time.count) + ", ";
}

// By blocks to the sink.
class BlockWriter {
 public:
  BlockWriter(ByteSink& sink, HistoryFormat format)
      : sink_(sink), is_edn_(format == HistoryFormat::kEdn) {}

  void header(const HistoryHeader& header) {
    if (is_edn_) text_ += kEdnMark;
    if (is_edn_ && header.present) text_ += ' ';
    if (header.present) header.raw.append_json(text_);
    if (is_edn_ || header.present) text_ += '\n';
  }
  void line(const Op& op) {
    is_edn_ ? append_edn_line(text_, op) : append_line(text_, op);
    if (text_.size() >= kBlock) flush();
  }
  Result<void> finish() {
    flush();
    const Result<void> closed = sink_.close();
    return written_ ? closed : written_;
  }

 private:
  static constexpr size_t kBlock = 1 << 16;
  void flush() {
    if (written_) written_ = sink_.write(text_);
    text_.clear();
  }

  ByteSink& sink_;
  bool is_edn_;
  std::string text_;
  Result<void> written_;
};

}  // namespace

void append_edn_line(std::string& out, const Op& op) {
  append_edn_numbers(out, op);
  out += ":type :";
  out += to_string(op.type);
  out += ", :process ";
  append_edn_process(out, op.process);
  out += ", :f ";
  append_edn_word(out, op.f.text());
  append_edn_field(out, "value", op.value);
  append_edn_text(out, "key", op.key);
  append_edn_text(out, "node", op.node);
  append_edn_token(out, "revision", op.revision);
  append_edn_token(out, "at", op.at);
  append_edn_token(out, "expected", op.expected);
  if (op.error) append_edn_error(out, *op.error);
  if (op.scheduled.count >= 0) append_edn_field(out, "scheduled", op.scheduled.count);
  append_edn_extra(out, op.extra);
  out += "}\n";
}

Result<void> write_history(const History& history, ByteSink& sink, HistoryFormat format) {
  ASSAY_CHECK(format == HistoryFormat::kJsonl || format == HistoryFormat::kEdn, "format %d",
              static_cast<int>(format));
  BlockWriter writer(sink, format);
  writer.header(history.header());
  history.for_each_line([&writer](const Op& op) { writer.line(op); });
  return writer.finish();
}

Result<void> write_history(const History& history, std::unique_ptr<OutputFile> file,
                           HistoryFormat format) {
  const Packing packing = packing_of(file->path());
  return write_history(history, *packed(packing, std::move(file)), format);
}

Result<void> write_history(const History& history, const std::string& path, HistoryFormat format) {
  auto file = OutputFile::open(path);
  if (!file) return file.error();
  return write_history(history, std::move(*file), format);
}

}  // namespace assay
