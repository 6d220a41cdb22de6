// Steps: the situations of a trial, one function each, and what is said of them.
#pragma once

#include <string>

#include "harness/trial/rig.h"
#include "harness/trial/trial.h"

namespace assay::trial {

// How a completion is told: "ok 1", "info (timeout: …)" (trial_text.cc).
std::string words(const Op& op);

class Steps : public Rig {
 public:
  Steps(Plan& plan, const RunFolder& folder, Console& console);

  void try_all();
  TrialResult take_result();

 private:
  // What the client answers while all is well (answer_steps.cc).
  void absent_key();
  void write_then_read();
  void odd_values();
  void cas();
  void guarded_write();
  // What it answers under faults (fault_steps.cc).
  void answer_lost();
  void stands_still();
  void killed_in_the_middle();
  void connection_refused();
  void started_again();
  void own_faults();

  // What certainly did nothing must be said to have failed.
  void mismatched(const std::string& name, const Op& done, Symbol cls);
  void judge_lost(const std::string& step, const std::string& key, const Op& done);

  void add(const std::string& name, Grade grade, std::string seen, std::string mend = "");
  void note_error(const std::string& situation, const Op& completion, bool ours = false);
  // Whatever the situation, a client that breaks its protocol is named first.
  bool lied(const std::string& name, const Op& op);
  // The completion, of an operation with this argument.
  const Op& asked(const Op& completion, const Value& argument);
  void give_up() { hopeless_ = true; }

  Console& console_;
  Value asked_value_;
  bool hopeless_ = false;
  TrialResult result_;
};

}  // namespace assay::trial
