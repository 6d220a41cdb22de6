// A nemesis that is a fault of its nodes, as their agents carry it out (Node::begin_fault): it only
// says what the fault is called and what it is told.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "nemesis/nemesis.h"
#include "nemesis/process_fault.h"

namespace assay {

struct NodeFaultKind {
  std::string_view kind;
  std::string_view summary;
  std::string_view needs;
  std::vector<std::string_view> deck;  // the shapes that are drawn where none is asked for
  std::vector<NemesisOption> options = {};
  Strikes strikes = Strikes::kRunningFirst;
  bool ends_daemon = false;   // as in NodeFault
  bool stops_daemon = false;  // as in NodeFault
  bool fails_daemon = false;  // as in NodeFault
  // From the options to what the agent is told; an input error where one is wrong.
  std::function<Result<std::map<std::string, std::string>>(
      const std::map<std::string, std::string>& settings)>
      read = [](const auto&) { return std::map<std::string, std::string>(); };
};

class NodeFaultNemesis : public Nemesis {
 public:
  explicit NodeFaultNemesis(NodeFaultKind kind) : kind_(std::move(kind)) {}

  std::string_view kind() const override { return kind_.kind; }
  std::string_view summary() const override { return kind_.summary; }
  std::string_view needs() const override { return kind_.needs; }
  std::string_view node_fault() const override { return kind_.kind; }
  std::vector<std::string_view> shapes() const override { return process_victims(); }
  std::vector<std::string_view> deck() const override { return kind_.deck; }
  bool takes_nodes() const override { return true; }
  std::vector<NemesisOption> options() const override { return kind_.options; }
  Result<void> accepts(const std::map<std::string, std::string>& settings) const override;
  bool available(const Powers& powers) const override {
    return powers.fault(std::string(kind_.kind));
  }
  std::unique_ptr<NemesisRun> start(Cluster& cluster, const NemesisOptions& options) const override;

 protected:
  // What was set, with the defaults of what was not.
  std::map<std::string, std::string> used(const std::map<std::string, std::string>& given) const;
  const NodeFaultKind kind_;
};

// "kind.option: expected …, found "…"".
Error wrong_option(std::string_view kind, std::string_view option, std::string_view expected,
                   const std::string& found);
// A whole number within bounds; absent where the text is none.
std::optional<int64_t> whole_number(const std::string& text, int64_t least, int64_t most);

}  // namespace assay
