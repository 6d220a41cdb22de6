#include "targets/naive_target.h"

#include <algorithm>
#include <charconv>

#include "targets/kv/http/kv_client.h"
#include "targets/raft_target.h"

namespace assay {
namespace {

constexpr const char* kNaiveServer = "assay-naive";

// One of assay-naive's designs.
struct NaiveDesign {
  const char* name;  // of the target, without "naive-"; the program knows it by the same
  const char* summary;
  std::vector<TargetOption> options;  // flags of the program, without "--"
};

const std::vector<NaiveDesign>& designs() {
  static const std::vector<NaiveDesign> all = {
      {"broadcast-copies",
       "every node accepts, and sends a copy of each change to the others once",
       {}},
      {"both-sides-accept",
       "every node accepts, and what was missed is merged when a link is back",
       {{"merge", "longest", "which history survives: longest, newest-clock or union"}}},
      {"timeout-failover",
       "a primary; when it is silent the next node takes over, asking nobody",
       {{"failover-ms", "500", "so long the primary may be silent"}}},
      {"reachable-group", "whoever can be reached decides, however few they are", {}},
  };
  return all;
}

std::vector<TargetOption> options_of(const NaiveDesign& design) {
  std::vector<TargetOption> options = design.options;
  options.push_back({"guards", "true", "false: whatever guards a write, it happens"});
  return options;
}

class NaiveTarget : public Target {
 public:
  NaiveTarget(std::string name, std::vector<std::string> flags, Nanos election_timeout)
      : name_(std::move(name)), flags_(std::move(flags)), election_timeout_(election_timeout) {}

  std::string_view name() const override { return name_; }
  Claims claims() const override {
    return {.watch = true, .election_timeout_min = election_timeout_, .clock = "hook"};
  }
  std::vector<Symbol> ops() const override { return kv_client_ops(KvTokens::kRevision); }
  bool has_daemons() const override { return true; }
  std::vector<std::string> binaries(const Layout& layout) const override {
    return {layout.bin_dir + "/" + kNaiveServer};
  }

  Result<DaemonSpec> daemon(const Layout& layout, const NodeInfo& node) const override {
    DaemonSpec spec;
    spec.name = "assay-naive";
    spec.cwd = node.folder;
    spec.log_path = node.folder + "/assay-naive.log";
    spec.argv = {program_on(layout, node, kNaiveServer)};
    for (std::string& argument : member_arguments(layout, node))
      spec.argv.push_back(std::move(argument));
    spec.argv.insert(spec.argv.end(), flags_.begin(), flags_.end());
    return spec;
  }

  void open_client(Loop& loop, const NodeInfo& node,
                   Callback<std::unique_ptr<Client>> done) override {
    open_kv_client(loop, node, {}, std::move(done));
  }
  void status(Loop& loop, const NodeInfo& node, Callback<Value> done) override {
    fetch_kv_status(loop, node, std::move(done));
  }
  void chain(Loop& loop, const NodeInfo& node, int64_t count, Callback<Value> done) override {
    fetch_kv_chain(loop, node, count, std::move(done));
  }
  std::string_view log_finding(std::string_view line) const override {
    return finding_in_server_log(line);
  }

 private:
  const std::string name_;
  const std::vector<std::string> flags_;
  const Nanos election_timeout_;
};

Error expected(const std::string& option, const std::string& what, const std::string& found) {
  return input_error(option + ": expected " + what + ", found \"" + found + "\"");
}

Result<std::unique_ptr<Target>> make(const NaiveDesign& design, const TargetSettings& given) {
  const std::string name = std::string("naive-") + design.name;
  std::vector<std::string> flags{std::string("--design=") + design.name};
  Nanos election_timeout;
  if (name == "naive-reachable-group") election_timeout = milliseconds(300);
  for (const auto& [option, text] : given) {
    if (option == "guards" && text != "true" && text != "false")
      return expected(name + ".guards", "true or false", text);
    if (option == "merge" && text != "longest" && text != "newest-clock" && text != "union")
      return expected(name + ".merge", "longest, newest-clock or union", text);
    if (option == "failover-ms") {
      int64_t ms = 0;
      const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), ms);
      if (error != std::errc() || end != text.data() + text.size() || ms < 1 || ms > 600'000)
        return expected(name + ".failover-ms", "milliseconds from 1 to 600000", text);
      election_timeout = milliseconds(ms);
    }
    flags.push_back("--" + option + "=" + text);
  }
  return std::unique_ptr<Target>(
      std::make_unique<NaiveTarget>(name, std::move(flags), election_timeout));
}

}  // namespace

std::vector<TargetInfo> naive_targets() {
  std::vector<TargetInfo> targets;
  for (const NaiveDesign& design : designs()) {
    targets.push_back(
        {.name = std::string("naive-") + design.name,
         .summary = design.summary,
         .options = options_of(design),
         .make = [&design](const TargetSettings& given, uint64_t) { return make(design, given); }});
  }
  return targets;
}

}  // namespace assay
