#include <algorithm>

#include "results/report/html_elements.h"
#include "results/report/html_sections.h"
#include "results/report/markup.h"

namespace assay::report {
namespace {

constexpr size_t kTreeBytesMax = 500'000;
constexpr size_t kPartBytesMax = 40'000;  // counts and facts of one verdict
constexpr size_t kValidPartsUnfolded = 8;
constexpr size_t kValidPartsMax = 100;

std::string_view glyph(Word word) {
  switch (word) {
    case Word::kValid:
      return "✓";
    case Word::kInvalid:
      return "✕";
    case Word::kUnknown:
      return "?";
    case Word::kBlocked:
      return "‖";
    case Word::kVacuous:
      return "○";
  }
  return "";
}

// The tree, cut where it would grow without end.
class Tree {
 public:
  explicit Tree(std::vector<const Verdict*> open) : open_(std::move(open)) {}

  std::string html(const Verdict& verdict) {
    append(verdict, true);
    return element("div", "tree", out_);
  }

 private:
  static std::string line(const Verdict& verdict) {
    std::string out =
        element("span", "word " + std::string(to_string(verdict.word())), glyph(verdict.word()));
    out += element("span", "name", text_html(verdict.name, 100)) + " ";
    out += element("span", "word " + std::string(to_string(verdict.word())),
                   to_string(verdict.word()));
    if (!verdict.reason.empty()) out += " " + element("span", "reason", text_html(verdict.reason));
    return out;
  }

  static std::string details(const Verdict& verdict) {
    std::string counts;
    for (const auto& [name, count] : verdict.counts) {
      if (counts.size() > kPartBytesMax) break;
      counts += element("span", "count", text_html(name, 80) + " " + grouped(count));
    }
    std::string out = counts.empty() ? "" : element("div", "detail", counts);
    if (verdict.progress == Progress::kUnknown || verdict.progress == Progress::kBlocked) {
      out += element("div", "detail",
                     "safety " + std::string(to_string(verdict.safety)) + ", progress " +
                         std::string(to_string(verdict.progress)));
    }
    for (const auto& [name, fact] : verdict.facts) {
      if (out.size() > kPartBytesMax) break;
      out += element("div", "detail",
                     element("span", "name", text_html(name, 80)) + ": " + code_html(fact));
    }
    if (verdict.witness) {
      for (const std::string& witness : verdict.witness->lines) {
        if (out.size() > 2 * kPartBytesMax) break;
        out += element("div", "detail", text_html(witness));
      }
    }
    return out;
  }

  void append(const Verdict& verdict, bool root) {
    const bool open = root || std::find(open_.begin(), open_.end(), &verdict) != open_.end();
    const std::string inner = details(verdict);
    if (verdict.children.empty() && inner.empty()) {
      out_ += element("div", root ? "leaf root" : "leaf", line(verdict)) + "\n";
      return;
    }
    out_ += std::string("<details") + (root ? " class=\"root\"" : "") +
            (open ? " open=\"open\"" : "") + ">" + element("summary", "", line(verdict)) + inner;
    append_children(verdict);
    out_ += "</details>\n";
  }

  // What is not valid comes first; many valid parts are folded away, and some of them are enough.
  void append_children(const Verdict& verdict) {
    std::vector<const Verdict*> valid;
    std::vector<const Verdict*> others;
    for (const Verdict& child : verdict.children) {
      (child.word() == Word::kValid ? valid : others).push_back(&child);
    }
    append_all(others, verdict.children.size());
    const bool folded = valid.size() > kValidPartsUnfolded;
    if (folded) {
      out_ += "<details class=\"fold\">" +
              element("summary", "", grouped(static_cast<int64_t>(valid.size())) + " valid parts");
    }
    append_all(valid, kValidPartsMax);
    if (folded) out_ += "</details>\n";
  }

  void append_all(const std::vector<const Verdict*>& verdicts, size_t max) {
    for (size_t i = 0; i < verdicts.size(); ++i) {
      if (i == max || out_.size() > kTreeBytesMax) {
        out_ += element("div", "leaf",
                        "and " + grouped(static_cast<int64_t>(verdicts.size() - i)) +
                            " more; verdict.json has them");
        return;
      }
      append(*verdicts[i], false);
    }
  }

  std::vector<const Verdict*> open_;
  std::string out_;
};

// Without a witness: down to the first part that has the run's word.
std::vector<const Verdict*> way_to_reason(const Verdict& root) {
  std::vector<const Verdict*> way;
  const Verdict* at = root.word() == Word::kValid ? nullptr : &root;
  while (at != nullptr) {
    way.push_back(at);
    const auto next =
        std::find_if(at->children.begin(), at->children.end(),
                     [&](const Verdict& child) { return child.word() == at->word(); });
    at = next == at->children.end() ? nullptr : &*next;
  }
  return way;
}

}  // namespace

std::string tree_html(const Report& report) {
  Tree tree(report.witness.verdict != nullptr ? report.witness.line
                                              : way_to_reason(report.verdict));
  return "<h2>Verdict</h2>\n" + tree.html(report.verdict) + "\n";
}

}  // namespace assay::report
