#include "results/certificate.h"

#include <algorithm>

namespace assay {
namespace {

Value texts(const std::vector<std::string>& list) {
  Value::Array items;
  for (const std::string& text : list) items.emplace_back(text);
  return Value::array(std::move(items));
}
std::vector<std::string> texts_in(const Value& list) {
  std::vector<std::string> all;
  if (!list.is_array()) return all;
  for (const Value& item : list.as_array())
    if (item.is_string()) all.emplace_back(item.as_text());
  return all;
}

Value numbers(const std::map<std::string, int64_t>& map) {
  Value::Object members;
  for (const auto& [name, number] : map) members.emplace_back(Symbol(name), Value(number));
  return Value::object(std::move(members));
}
std::map<std::string, int64_t> numbers_in(const Value& object) {
  std::map<std::string, int64_t> map;
  if (!object.is_object()) return map;
  for (const auto& [name, number] : object.as_object())
    if (number.is_int()) map[std::string(name.text())] = number.as_int();
  return map;
}

std::string text_in(const Value& object, const char* name) {
  return std::string(object.text_or(name, ""));
}

using Members = Value::Object;
void put(Members& members, const char* name, Value value) {
  members.emplace_back(Symbol(name), std::move(value));
}

Value clause_value(const CertificateClause& clause) {
  Members members;
  for (const auto& [name, text] : {std::pair{"id", &clause.id}, {"title", &clause.title},
                                   {"passage", &clause.passage}, {"word", &clause.word},
                                   {"expected", &clause.expected}, {"check", &clause.check},
                                   {"reason", &clause.reason}, {"cell", &clause.cell}})
    put(members, name, Value(*text));
  put(members, "cells", Value(clause.cells));
  put(members, "operations", Value(clause.operations));
  put(members, "faults_bit", Value(clause.faults_bit));
  put(members, "recoveries", Value(clause.recoveries));
  put(members, "checks", texts(clause.checks));
  Value::Array threats;
  for (const CertificateThreat& threat : clause.threats)
    threats.push_back(Value::object({{Symbol("fault"), Value(threat.fault)},
                                     {Symbol("bit"), Value(threat.bit)},
                                     {Symbol("excluded"), Value(threat.excluded)}}));
  put(members, "threats", Value::array(std::move(threats)));
  put(members, "not_exercised", texts(clause.not_exercised));
  return Value::object(std::move(members));
}

CertificateClause clause_in(const Value& value) {
  CertificateClause clause;
  for (const auto& [name, text] : {std::pair{"id", &clause.id}, {"title", &clause.title},
                                   {"passage", &clause.passage}, {"word", &clause.word},
                                   {"expected", &clause.expected}, {"check", &clause.check},
                                   {"reason", &clause.reason}, {"cell", &clause.cell}})
    *text = text_in(value, name);
  clause.cells = value.int_or("cells", 0);
  clause.operations = value.int_or("operations", 0);
  clause.faults_bit = value.int_or("faults_bit", 0);
  clause.recoveries = value.int_or("recoveries", 0);
  clause.checks = texts_in(value["checks"]);
  if (value["threats"].is_array())
    for (const Value& threat : value["threats"].as_array())
      clause.threats.push_back(
          {text_in(threat, "fault"), threat.int_or("bit", 0), text_in(threat, "excluded")});
  clause.not_exercised = texts_in(value["not_exercised"]);
  return clause;
}

}  // namespace

Value cell_to_value(const CertificateCell& cell) {
  Members members;
  for (const auto& [name, text] : {std::pair{"id", &cell.id}, {"key", &cell.key},
                                   {"target", &cell.target}, {"workload", &cell.workload},
                                   {"faults", &cell.faults}, {"canary_of", &cell.canary_of},
                                   {"token_kind", &cell.token_kind},
                                   {"word", &cell.word}, {"reason", &cell.reason},
                                   {"witness", &cell.witness}, {"run_folder", &cell.run_folder},
                                   {"history_hash", &cell.history_hash}, {"rerun", &cell.rerun}})
    put(members, name, Value(*text));
  put(members, "seed", Value(static_cast<int64_t>(cell.seed)));
  put(members, "operations", Value::object({{Symbol("ok"), Value(cell.ok)},
                                            {Symbol("fail"), Value(cell.fail)},
                                            {Symbol("info"), Value(cell.info)}}));
  put(members, "bit", numbers(cell.bit));
  put(members, "healed", numbers(cell.healed));
  Members clauses;
  for (const auto& [id, said] : cell.clauses)
    put(clauses, id.c_str(),
        Value::array({Value(said.word), Value(said.check), Value(said.reason)}));
  put(members, "clauses", Value::object(std::move(clauses)));
  return Value::object(std::move(members));
}

CertificateCell cell_from_value(const Value& value) {
  CertificateCell cell;
  for (const auto& [name, text] : {std::pair{"id", &cell.id}, {"key", &cell.key},
                                   {"target", &cell.target}, {"workload", &cell.workload},
                                   {"faults", &cell.faults}, {"canary_of", &cell.canary_of},
                                   {"token_kind", &cell.token_kind},
                                   {"word", &cell.word}, {"reason", &cell.reason},
                                   {"witness", &cell.witness}, {"run_folder", &cell.run_folder},
                                   {"history_hash", &cell.history_hash}, {"rerun", &cell.rerun}})
    *text = text_in(value, name);
  cell.seed = static_cast<uint64_t>(value.int_or("seed", 0));
  cell.ok = value["operations"].int_or("ok", 0);
  cell.fail = value["operations"].int_or("fail", 0);
  cell.info = value["operations"].int_or("info", 0);
  cell.bit = numbers_in(value["bit"]);
  cell.healed = numbers_in(value["healed"]);
  if (!value["clauses"].is_object()) return cell;
  for (const auto& [id, said] : value["clauses"].as_object()) {
    const auto texts = texts_in(said);
    if (texts.size() == 3) cell.clauses[std::string(id.text())] = {texts[0], texts[1], texts[2]};
  }
  return cell;
}

size_t Certificate::runs() const {
  return static_cast<size_t>(std::count_if(cells.begin(), cells.end(), [](const auto& cell) {
    return cell.canary_of.empty() && (cell.word == "valid" || cell.word == "invalid" || cell.word == "blocked");
  }));
}

Value certificate_to_value(const Certificate& certificate) {
  Members members;
  put(members, "format", Value("assay-certificate"));
  put(members, "version", Value(1));
  for (const auto& [name, text] :
       {std::pair{"word", &certificate.word}, {"sentence", &certificate.sentence},
        {"target", &certificate.target}, {"profile", &certificate.profile},
        {"contract", &certificate.contract}, {"assay", &certificate.assay_version},
        {"started", &certificate.started}, {"host", &certificate.host},
        {"shard", &certificate.shard}, {"honest", &certificate.honest}})
    put(members, name, Value(*text));
  put(members, "seed", Value(static_cast<int64_t>(certificate.seed)));
  Members settings;
  for (const auto& [name, value] : certificate.settings) put(settings, name.c_str(), Value(value));
  put(members, "settings", Value::object(std::move(settings)));
  Value::Array binaries;
  for (const auto& [name, hash] : certificate.binaries)
    binaries.push_back(Value::object({{Symbol("name"), Value(name)}, {Symbol("hash"), Value(hash)}}));
  put(members, "binaries", Value::array(std::move(binaries)));
  put(members, "exclusions", texts(certificate.exclusions));
  put(members, "not_exercised", texts(certificate.not_exercised));
  Value::Array clauses, cells;
  for (const CertificateClause& clause : certificate.clauses) clauses.push_back(clause_value(clause));
  for (const CertificateCell& cell : certificate.cells) cells.push_back(cell_to_value(cell));
  put(members, "clauses", Value::array(std::move(clauses)));
  put(members, "cells", Value::array(std::move(cells)));
  return Value::object(std::move(members));
}

Result<Certificate> certificate_from_value(const Value& value, const std::string& name) {
  if (text_in(value, "format") != "assay-certificate")
    return input_error(name + ":1:1: expected a certificate (format \"assay-certificate\"), found " +
                       (value.is_object() ? value["format"].to_json() : value.to_json()));
  if (value.int_or("version", 0) != 1)
    return input_error(name + ": expected version 1, found " + value["version"].to_json());
  Certificate certificate;
  for (const auto& [member, text] :
       {std::pair{"word", &certificate.word}, {"sentence", &certificate.sentence},
        {"target", &certificate.target}, {"profile", &certificate.profile},
        {"contract", &certificate.contract}, {"assay", &certificate.assay_version},
        {"started", &certificate.started}, {"host", &certificate.host},
        {"shard", &certificate.shard}, {"honest", &certificate.honest}})
    *text = text_in(value, member);
  certificate.seed = static_cast<uint64_t>(value.int_or("seed", 0));
  if (value["settings"].is_object())
    for (const auto& [option, setting] : value["settings"].as_object())
      certificate.settings[std::string(option.text())] = std::string(setting.as_text());
  if (value["binaries"].is_array())
    for (const Value& binary : value["binaries"].as_array())
      certificate.binaries.emplace_back(text_in(binary, "name"), text_in(binary, "hash"));
  certificate.exclusions = texts_in(value["exclusions"]);
  certificate.not_exercised = texts_in(value["not_exercised"]);
  if (value["clauses"].is_array())
    for (const Value& clause : value["clauses"].as_array())
      certificate.clauses.push_back(clause_in(clause));
  if (value["cells"].is_array())
    for (const Value& cell : value["cells"].as_array()) certificate.cells.push_back(cell_from_value(cell));
  return certificate;
}

}  // namespace assay
