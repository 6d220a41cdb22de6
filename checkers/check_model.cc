#include "checkers/check_model.h"

#include <algorithm>

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

std::vector<Symbol> calls_of(const History& history) {
  std::vector<Symbol> fs;
  for (size_t id = 0; id < history.size(); ++id) {
    const Symbol f = history[id].f();
    if (std::find(fs.begin(), fs.end(), f) == fs.end()) fs.push_back(f);
  }
  return fs;
}

}  // namespace

Result<void> can_judge(const History& history, const Model& model) {
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
  }
  return {};
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
    if (const std::string wrong = model.wrong(operation); !wrong.empty())
      return history.error_at(operation, f + " " + wrong);
    if (const std::string wrong = model.wrong_answer(operation); !wrong.empty())
      return history.error_at_answer(operation, f + " " + wrong);
                                 [&](Symbol f) { return has_call(*model, f); });
    if (!all) continue;
    if (is_register(model)) return nullptr;
    if (can_judge(history, *model)) able.push_back(model);
  }
  return able.size() == 1 ? able[0] : nullptr;
}

}  // namespace assay
