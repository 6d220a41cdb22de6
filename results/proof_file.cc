#include "results/proof_file.h"

#include <algorithm>

#include "checkers/history/json_text.h"
#include "checkers/history/vocabulary.h"
#include "checkers/words.h"

namespace assay {
namespace {

void put(std::string& out, std::string_view name, const Value& value) {
  out += out.back() == '{' ? "\"" : ",\"";
  out.append(name).append("\":").append(value.to_json());
}

std::string header_line(const Proof& proof, const History& history) {
  const HistoryHeader& header = history.header();
  std::string out = "{";
  put(out, "format", "assay-proof");
  put(out, "version", 1);
  put(out, "model", proof.model);
  put(out, "failed_cas", header.failed_cas_observes ? "observe" : "ignore");
  put(out, "null_read", header.null_read_is_value ? "value" : "unknown");
  put(out, "reads", std::string(read_claim(header)));
  if (proof.only_key) put(out, "only_key", *proof.only_key);
  return out + "}\n";
}

std::string part_line(const PartProof& part, const History& history) {
  Value::Array keys, initial;
  for (Symbol name : part.names) {
    keys.emplace_back(name);
    initial.push_back(history.header().initial_of(name));
  }
  std::string out = "{";
  put(out, "keys", Value::array(std::move(keys)));
  put(out, "initial", Value::array(std::move(initial)));
  if (part.safety != Safety::kValid) {
    put(out, "verdict", to_string(part.safety));
    return out + "}\n";
  }
  out += ",\"order\":[";
  for (uint32_t id : part.order) {
    if (out.back() != '[') out += ',';
    out += std::to_string(history[id].invoke_index());
  }
  return out + "]}\n";
}

}  // namespace

std::string proof_to_jsonl(const Proof& proof, const History& history) {
  std::string out = header_line(proof, history);
  for (const PartProof& part : proof.parts) out += part_line(part, history);
  return out;
}

std::string unproven_sentence(const Proof& proof) {
  constexpr size_t kNamed = 5;
  std::vector<std::string> names;
  size_t all = 0;
  for (const PartProof& part : proof.parts) {
    if (part.safety == Safety::kValid || ++all > kNamed) continue;
    std::string name;
    for (Symbol key : part.names) name += (name.empty() ? "" : "+") + std::string(key.text());
    names.push_back(name.empty() ? "the history" : name);
  }
  if (all == 0) return "";
  if (all > kNamed) names.push_back(grouped(static_cast<int64_t>(all - kNamed)) + " more");
  return "no proof of " + listed(names) + ": not valid";
}

}  // namespace assay
