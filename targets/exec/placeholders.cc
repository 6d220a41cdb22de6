#include "targets/exec/placeholders.h"

#include <algorithm>

namespace assay::exec {
namespace {

Error expected(const std::string& what, std::string_view found) {
  return input_error("expected " + what + ", found \"" + std::string(found) + "\"");
}

class Filler {
 public:
  Filler(std::string_view text, const Surroundings& here) : text_(text), here_(here) {}

  Result<std::string> whole() { return text(here_.node, false); }

 private:
  // Up to the end, or to the brace that closes the FORMAT in which it stands.
  Result<std::string> text(const NodeInfo& node, bool nested) {
    std::string out;
    while (at_ < text_.size() && !(nested && text_[at_] == '}')) {
      const char c = text_[at_++];
      if (c != '{' && c != '}') {
        out += c;
      } else if (at_ < text_.size() && text_[at_] == c) {
        out += c;
        ++at_;
      } else if (c == '}') {
        return expected("}} for a brace", text_);
      } else {
        auto filled = placeholder(node, nested);
        if (!filled) return filled;
        out += *filled;
      }
    }
    return out;
  }

  // After its opening brace.
  Result<std::string> placeholder(const NodeInfo& node, bool nested) {
    const size_t start = at_;
    at_ = std::min(text_.find_first_of(":{}", at_), text_.size());
    const std::string_view name = text_.substr(start, at_ - start);
    const std::string_view kind = name.substr(0, name.find('|'));
    if (at_ == text_.size() || text_[at_] == '{') return expected("a placeholder in braces", text_);
    if (text_[at_] == ':') {
      ++at_;
      if (name == "option") return option();
      if (!nested && (kind == "peers" || kind == "others")) return list(name);
      return unknown(name, nested);
    }
    ++at_;
    return plain(name, node, nested);
  }

  Result<std::string> plain(std::string_view name, const NodeInfo& node, bool nested) const {
    if (name == "node") return node.name;
    if (name == "index") return std::to_string(node.index + 1);
    if (name == "address") return reached(node).address;
    if (name == "client_port") return std::to_string(node.client_port);
    if (name == "peer_port") return std::to_string(reached(node).peer_port);
    if (name == "folder") return node.folder;
    if (name == "bin") return here_.bin;
    if (name == "nodes") return std::to_string(here_.layout.nodes.size());
    return unknown(name, nested);
  }

  Route reached(const NodeInfo& node) const {
    for (const Route& route : here_.layout.routes) {
      if (route.from == here_.node.index && route.to == node.index) return route;
    }
    return {here_.node.index, node.index, node.address, node.peer_port};
  }

  Result<std::string> option() {
    const size_t end = std::min(text_.find_first_of("{}", at_), text_.size());
    const std::string_view name = text_.substr(at_, end - at_);
    if (end == text_.size() || text_[end] == '{') return expected("an option's name and }", text_);
    at_ = end + 1;
    std::string known;
    for (const auto& [option, value] : here_.options) {
      if (option == name) return value;
      known += (known.empty() ? "" : ", ") + option;
    }
    return expected(known.empty() ? "no {option:…}, since there are no options" : "one of " + known,
                    "{option:" + std::string(name) + "}");
  }

  Result<std::string> list(std::string_view name) {
    const size_t bar = name.find('|');
    const std::string_view separator = bar == name.npos ? "," : name.substr(bar + 1);
    const bool all = name.substr(0, bar) == "peers";
    const size_t format = at_;
    std::string out;
    bool first = true;
    // An unused one of this node finds the end of FORMAT, and its mistakes, also without others.
    if (auto tried = text(here_.node, true); !tried) return tried;
    const size_t end = at_;
    if (end == text_.size()) return expected("a } after the format of {peers:…}", text_);
    for (const NodeInfo& node : here_.layout.nodes) {
      if (!all && node.index == here_.node.index) continue;
      at_ = format;
      if (!first) out += separator;
      first = false;
      out += *text(node, true);
    }
    at_ = end + 1;
    return out;
  }

  static Error unknown(std::string_view name, bool nested) {
    return expected(
        std::string("one of {node}, {index}, {address}, {client_port}, {peer_port}, {folder}, "
                    "{bin}, {nodes}, {option:NAME}") +
            (nested ? "" : ", {peers:FORMAT}, {others:FORMAT}"),
        "{" + std::string(name) + "}");
  }

  std::string_view text_;
  const Surroundings& here_;
  size_t at_ = 0;
};

}  // namespace

Result<std::string> fill(std::string_view text, const Surroundings& surroundings) {
  return Filler(text, surroundings).whole();
}

}  // namespace assay::exec
