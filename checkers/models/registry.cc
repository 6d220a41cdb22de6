#include "checkers/models/registry.h"

namespace assay {

// register and cas-register have a search of their own (checkers/linearizable/search.h); the tests
// compare it with the one for every model.
const std::vector<const Model*>& all_models() {
  static const std::vector<const Model*> models = {
      &register_model(),  &cas_register_model(),  //
      &multi_register_model(), &mutex_model(),    //
      &kv_model(),        &set_model(),
  };
  return models;
}

const Model* find_model(std::string_view name) {
  for (const Model* model : all_models()) {
    if (model->name() == name) return model;
  }
  return nullptr;
}

std::string model_names() {
  std::string names;
  for (const Model* model : all_models()) {
    names += (names.empty() ? "" : ", ") + std::string(model->name());
  }
  return names;
}

}  // namespace assay
