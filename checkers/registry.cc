#include "checkers/registry.h"

namespace assay {

const std::vector<const Checker*>& all_checkers() {
  static const std::vector<const Checker*> checkers = {
#define ASSAY_LIST_CHECKER(NAME) &NAME##_checker(),
      ASSAY_CHECKERS(ASSAY_LIST_CHECKER)
#undef ASSAY_LIST_CHECKER
  };
  return checkers;
}

const Checker* find_checker(std::string_view name) {
  for (const Checker* checker : all_checkers()) {
    if (checker->name() == name) return checker;
  }
  return nullptr;
}

}  // namespace assay
