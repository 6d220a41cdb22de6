#include <cstdio>
#include <string>
#include <vector>

#include "checkers/checker.h"
#include "checkers/clauses.h"
#include "checkers/models/registry.h"
#include "checkers/words.h"
#include "harness/cli/verbs.h"
#include "harness/experiment.h"
#include "nemesis/nemesis.h"
#include "results/store.h"
#include "targets/target.h"
#include "workloads/workload.h"

namespace assay {
namespace {

// A table: the first row is its head.
using Row = std::vector<std::string>;
using Table = std::vector<Row>;

std::string joined(const auto& items, auto text) {
  std::string all;
  for (const auto& item : items) all += (all.empty() ? "" : ", ") + std::string(text(item));
  return all;
}
std::string joined_symbols(const std::vector<Symbol>& symbols) {
  return joined(symbols, [](Symbol s) { return s.text(); });
}

Table targets() {
  Table table{{"target", "what", "options"}};
  for (const TargetInfo& target : all_targets()) {
    table.push_back({std::string(target.name), std::string(target.summary), ""});
    for (const TargetOption& option : target.options) {
      table.push_back({"  " + std::string(target.name) + "." + option.name,
                       (option.canary ? "CANARY, makes it wrong: " : "") + option.summary,
                       "default " + option.fallback});
    }
  }
  return table;
}

Table workloads() {
  Table table{{"workload", "what", "operations"}};
  for (const Workload* w : all_workloads()) {
    table.push_back({std::string(w->name()), std::string(w->summary()), joined_symbols(w->ops())});
    for (const WorkloadOption& option : w->options())
      table.push_back({"  " + std::string(w->name()) + "." + option.name, option.summary,
                       "default " + option.fallback});
  }
  return table;
}

Table nemeses() {
  Table table{{"nemesis", "what", "shapes and victims", "needs"}};
  for (const Nemesis* n : all_nemeses()) {
    table.push_back({std::string(n->kind()), std::string(n->summary()),
                     joined(n->shapes(), [](std::string_view s) { return s; }) +
                         (n->takes_nodes() ? ", or nodes: n1+n3" : ""),
                     std::string(n->needs())});
    for (const NemesisOption& option : n->options())
      table.push_back({"  " + std::string(n->kind()) + "." + option.name, option.summary,
                       option.fallback.empty() ? "" : "default " + option.fallback, ""});
  }
  return table;
}

Table checkers() {
  Table table{{"checker", "what"}};
  for (const Checker* c : all_checkers())
    table.push_back({std::string(c->name()), std::string(c->summary())});
  return table;
}

Table models() {
  Table table{{"model", "what", "operations"}};
  for (const Model* model : all_models()) {
    table.push_back({std::string(model->name()), std::string(model->summary()), ""});
    for (const ModelCall& call : model->calls()) {
      table.push_back({"  " + std::string(call.f), "", std::string(call.shape)});
    }
  }
  return table;
}

Table experiments() {
  Table table{{"experiment", "what", "stands for"}};
  for (const Experiment& e : all_experiments())
    table.push_back({e.name, e.title + (e.pending.empty() ? "" : " (pending: " + e.pending + ")"),
                     e.source + ": " + e.passage});
  return table;
}

Table clauses() {
  Table table{{"clause", "what", "checked by"}};
  for (const Clause& clause : all_clauses()) {
    table.push_back({std::string(clause.id), std::string(clause.title), judged_by(clause)});
  }
  return table;
}

Result<Table> runs(const std::string& folder) {
  auto index = read_index(folder);
  if (!index) return index.error();
  for (const std::string& warning : index->warnings)
    std::fprintf(stderr, "assay: %s\n", warning.c_str());
  Table table{{"run", "verdict", "ok", "fail", "info", "reason"}};
  for (const IndexLine& line : index->lines) {
    table.push_back({line.folder, line.verdict, std::to_string(line.ok), std::to_string(line.fail),
                     std::to_string(line.info), line.reason});
  }
  return table;
}

void print_plain(const Table& table) {
  std::vector<size_t> widths(table[0].size());
  for (const Row& row : table) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  for (const Row& row : table) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) {
      line += row[i];
      if (i + 1 < row.size()) line += std::string(widths[i] - row[i].size() + 2, ' ');
    }
    line.erase(line.find_last_not_of(' ') + 1);
    std::printf("%s\n", line.c_str());
  }
}

void print_markdown(const Table& table) {
  for (size_t r = 0; r < table.size(); ++r) {
    std::string line = "|";
    for (const std::string& cell : table[r]) line += " " + cell + " |";
    std::printf("%s\n", line.c_str());
    if (r > 0) continue;
    std::string rule = "|";
    for (size_t i = 0; i < table[0].size(); ++i) rule += "---|";
    std::printf("%s\n", rule.c_str());
  }
}

void print_json(const Table& table) {
  Value::Array rows;
  for (size_t r = 1; r < table.size(); ++r) {
    Value::Object row;
    for (size_t i = 0; i < table[r].size(); ++i)
      row.emplace_back(Symbol(table[0][i]), Value(table[r][i]));
    rows.push_back(Value::object(std::move(row)));
  }
  std::printf("%s\n", Value::array(std::move(rows)).to_json().c_str());
}

}  // namespace

int list_verb(const ListArgs& args) {
  Table table;
  if (args.what == "targets") table = targets();
  if (args.what == "workloads") table = workloads();
  if (args.what == "nemeses") table = nemeses();
  if (args.what == "checkers") table = checkers();
  if (args.what == "models") table = models();
  if (args.what == "experiments") table = experiments();
  if (args.what == "clauses") table = clauses();
  if (args.what == "runs") {
    auto read = runs(args.runs);
    if (!read) return fail(read.error());
    table = std::move(*read);
  }
  if (args.json)
    print_json(table);
  else if (args.markdown)
    print_markdown(table);
  else
    print_plain(table);
  return kExitValid;
}

}  // namespace assay
