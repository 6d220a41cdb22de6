#include "nemesis/registry.h"

namespace assay {

const std::vector<const Nemesis*>& all_nemeses() {
#define ASSAY_ENTRY(name) &name(),
  static const std::vector<const Nemesis*> nemeses = {ASSAY_NEMESES(ASSAY_ENTRY)};
#undef ASSAY_ENTRY
  return nemeses;
}

const Nemesis* find_nemesis(std::string_view kind) {
  for (const Nemesis* nemesis : all_nemeses()) {
    if (nemesis->kind() == kind) return nemesis;
  }
  return nullptr;
}

}  // namespace assay
