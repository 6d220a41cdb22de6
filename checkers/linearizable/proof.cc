#include "checkers/linearizable/proof.h"

#include "checkers/check_model.h"
#include "checkers/linearizable/linearizable.h"
#include "checkers/registry.h"

namespace assay {

Result<Proof> prove(const History& history, const Budget& budget) {
  if (auto accepted = linearizable_checker().accepts(history); !accepted) return accepted.error();
  Proof proof;
  if (const Model* model = *general_model_of(history)) {
    prove_model(history, *model, budget, proof);
  } else {
    linearizable::prove_registers(history, budget, proof);
  }
  return proof;
}

}  // namespace assay
