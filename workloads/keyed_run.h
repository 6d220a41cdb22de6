// KeyedRun: a run whose load is many keys, each worked on by one group of workers, and what every
// workload shares at the end of a run.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "workloads/gen/keys.h"
#include "workloads/workload.h"

namespace assay {

class KeyedRun final : public WorkloadRun {
 public:
  // An input error when the options do not fit together.
  static Result<std::unique_ptr<WorkloadRun>> start(const Workload& workload,
                                                    const WorkloadOptions& options,
                                                    gen::ConcurrentKeys::KeyGenerator make);

  KeyedRun(const Workload& workload, const WorkloadOptions& options,
           gen::ConcurrentKeys::KeyGenerator make);
  Gen load() override;
  Gen final_reads() override;
  std::vector<Symbol> ops() const override { return workload_.ops(); }
  bool guarded() const override { return workload_.guarded(); }

 private:
  const Workload& workload_;
  const WorkloadOptions options_;
  gen::ConcurrentKeys keys_;
};

// Of a group, so many workers (the first ones) only read: writes that hang must not keep all
// workers from seeing what is wrong.
int readers_of_group(int group_size);

// WorkloadRun::final_reads() of any operations that change nothing, asked for when they are due.
Gen final_operations(const WorkloadOptions& options, std::function<std::vector<Op>()> operations);
// The same of the keys that `keys` gives when it is asked.
Gen final_reads_of(const WorkloadOptions& options, std::function<std::vector<Symbol>()> keys);

// Header members of a workload that is judged as a cas-register per key, null at first.
Value cas_register_header();
// The checkers that judge it.
std::vector<std::string> register_checkers();

}  // namespace assay
