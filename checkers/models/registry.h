// The models, by name.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "checkers/model.h"

namespace assay {

const std::vector<const Model*>& all_models();       // in the order in which they are shown
const Model* find_model(std::string_view name);      // nullptr when there is none
std::string model_names();                           // "register, cas-register, …"

const Model& register_model();
const Model& cas_register_model();
const Model& multi_register_model();
const Model& mutex_model();
const Model& kv_model();
const Model& set_model();

}  // namespace assay
