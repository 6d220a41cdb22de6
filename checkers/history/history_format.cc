// Which format a text is in, by its first bytes.
#include <algorithm>

#include "checkers/history/history_readers.h"

namespace assay {
namespace {

constexpr std::string_view kBlanks = " \t\r\n,";

std::string_view without_blanks(std::string_view text) {
  const size_t first = text.find_first_not_of(kBlanks);
  return text.substr(std::min(first, text.size()));
}

// Past comments, and the bracket that holds everything.
std::string_view first_form(std::string_view text) {
  text = without_blanks(text);
  while (text.starts_with(';')) {
    text.remove_prefix(std::min(text.find('\n'), text.size()));
    text = without_blanks(text);
  }
  return text;
}

// The first map of EDN is an operation of Porcupine's key-value logs.
bool is_kv(std::string_view form) {
  const std::string_view map = form.substr(0, form.find('}'));
  if (map.find(":key \"") == map.npos) return false;
  for (const std::string_view word : {":f :get", ":f :put", ":f :append"})
    if (map.find(word) != map.npos) return true;
  return false;
}

}  // namespace

bool starts_with_columns(std::string_view line) {
  const std::string_view process = line.substr(0, line.find_first_of(" \t"));
  if (process.find_first_not_of("0123456789") != process.npos && process != ":nemesis")
    return false;
  line.remove_prefix(process.size());
  if (process.empty() || line.find_first_not_of(" \t") == line.npos) return false;
  line.remove_prefix(line.find_first_not_of(" \t"));
  return line.starts_with(':');
}

HistoryFormat format_that_fits(std::string_view head) {
  if (head.starts_with("\xef\xbb\xbf")) head.remove_prefix(3);
  if (head.starts_with(kEdnMark)) return HistoryFormat::kEdn;
  const std::string_view text = without_blanks(head);
  if (text.empty()) return HistoryFormat::kJsonl;
  std::string_view form = first_form(text);
  const bool is_row = form.starts_with('[') || form.starts_with('(');
  if (is_row) form = first_form(form.substr(1));
  if (form.starts_with('{')) {
    const std::string_view inside = first_form(form.substr(1));
    const bool is_edn = inside.starts_with(':') || inside.starts_with('#');
    if (!is_edn) return HistoryFormat::kJsonl;
    return is_kv(form) ? HistoryFormat::kPorcupineKv : HistoryFormat::kEdn;
  }
  if (text[0] == ';' || text[0] == '#' || text[0] == '(') return HistoryFormat::kEdn;
  if (is_row && (form.starts_with('#') || form.starts_with(']'))) return HistoryFormat::kEdn;
  if (starts_with_columns(text) || head.find("jepsen.util") != head.npos)
    return HistoryFormat::kPorcupineEtcd;
  return HistoryFormat::kJsonl;
}

}  // namespace assay
