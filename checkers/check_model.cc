#include "checkers/check_model.h"

#include <algorithm>
#include <optional>

#include "checkers/models/registry.h"
#include "checkers/words.h"

namespace assay {
namespace {

bool has_call(const Model& model, Symbol f) {
  const std::vector<ModelCall> calls = model.calls();
  return std::any_of(calls.begin(), calls.end(),
                     [&](const ModelCall& call) { return call.f == f.text(); });
}

bool is_register(const Model* model) {
  return model == &register_model() || model == &cas_register_model();
}

std::string quoted(Symbol name) {
  std::string out;
  append_json_string(out, name.text());
  return out;
}

std::vector<Symbol> calls_of(const History& history) {
  std::vector<Symbol> fs;
  for (size_t id = 0; id < history.size(); ++id) {
    const Symbol f = history[id].f();
    if (std::find(fs.begin(), fs.end(), f) == fs.end()) fs.push_back(f);
  }
  return fs;
}

Result<void> initial_fits(const HistoryHeader& header, const Model& model) {
  const auto wrong = [&](const Value& initial) -> Result<void> {
    const std::string what = model.wrong_initial(initial);
    if (what.empty()) return {};
    return input_error("initial: the model " + std::string(model.name()) + " " + what);
  };
  if (!header.initial.is_object()) return wrong(header.initial);
  for (const auto& [name, initial] : header.initial.as_object()) {
    if (auto fits = wrong(initial); !fits) return fits;
  }
  return {};
}

Result<void> operations_fit(const History& history, const Model& model) {
  std::vector<std::string> words;
  std::vector<Symbol> known;
  for (const ModelCall& call : model.calls()) {
    words.emplace_back(call.f);
    known.emplace_back(call.f);
  }
  for (size_t id = 0; id < history.size(); ++id) {
    const Operation operation = history[id];
    const std::string f(operation.f().text());
    if (std::find(known.begin(), known.end(), operation.f()) == known.end()) {
      return history.error_at(operation, "the model " + std::string(model.name()) + " judges " +
                                             listed(words) + ", not " + f);
    }
    if (const std::string wrong = model.wrong(operation); !wrong.empty())
      return history.error_at(operation, f + " " + wrong);
    if (const std::string wrong = model.wrong_answer(operation); !wrong.empty())
      return history.error_at_answer(operation, f + " " + wrong);
  }
  return {};
}

}  // namespace

Result<void> can_judge(const History& history, const Model& model) {
  if (auto fit = operations_fit(history, model); !fit) return fit;
  return initial_fits(history.header(), model);
}

Result<void> keys_fit(const History& history, const Model* model) {
  std::optional<size_t> with, without;  // the first of each
  for (size_t id = 0; id < history.size() && !(with && without); ++id) {
    const auto note = [&](Symbol name) {
      std::optional<size_t>& first = name.empty() ? without : with;
      if (!first) first = id;
    };
    if (!model) {
      note(history[id].key());
    } else {
      for (Symbol name : model->touches(history[id])) note(name);
    }
  }
  if (!with || !without) return {};
  const Symbol key = history[*with].key();
  return history.error_at(history[*without],
                          "expected a key as operation " +
                              std::to_string(history[*with].invoke_index()) + " has one" +
                              (key.empty() ? "" : ", " + quoted(key)) + ", found none");
}

Result<std::vector<Symbol>> initials_of_nothing(const History& history, const Model* model) {
  const Value& initial = history.header().initial;
  std::vector<Symbol> missing;
  if (!initial.is_object()) return missing;
  for (const auto& [name, value] : initial.as_object()) missing.push_back(name);
  for (size_t id = 0; id < history.size() && !missing.empty(); ++id) {
    const Operation operation = history[id];
    for (Symbol name : model ? model->touches(operation) : std::vector{operation.key()})
      std::erase(missing, name);
  }
  if (history.size() == 0 || missing.empty() || missing.size() < initial.as_object().size())
    return missing;
  return input_error(
      "initial: an object gives the initial value by key, and no operation has the key " +
      quoted(missing[0]));
}

Result<const Model*> general_model_of(const History& history) {
  const std::string& name = history.header().model;
  if (!name.empty()) {
    const Model* model = find_model(name);
    if (model == nullptr) {
      return input_error("the model " + name + " is not known: there are " + model_names());
    }
    return is_register(model) ? nullptr : model;
  }
  const std::vector<Symbol> fs = calls_of(history);
  std::vector<const Model*> able;
  for (const Model* model : all_models()) {
    const bool all = std::all_of(fs.begin(), fs.end(),
                                 [&](Symbol f) { return has_call(*model, f); });
    if (!all) continue;
    if (is_register(model)) return nullptr;
    if (operations_fit(history, *model)) able.push_back(model);
  }
  return able.size() == 1 ? able[0] : nullptr;
}

}  // namespace assay
