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

// How the runs of a workload differ from that of a register.
struct KeyedShape {
  // The generator of a key says itself when the key is used up (it is made for so many operations
  // as drawn below), and leaves nothing in the middle; there is no bound of processes.
  bool whole = false;
  // The operation that looks at a key in the end; without: a read of it.
  std::function<Op(Symbol key)> last_look;
};
// So many operations for this key, of a `whole` shape.
int64_t operations_of_key(const WorkloadOptions& options, const Rng& key_stream);

class KeyedRun final : public WorkloadRun {
 public:
  // An input error when the options do not fit together.
  static Result<std::unique_ptr<WorkloadRun>> start(const Workload& workload,
                                                    const WorkloadOptions& options,
                                                    gen::ConcurrentKeys::KeyGenerator make,
                                                    KeyedShape shape = {});

  KeyedRun(const Workload& workload, const WorkloadOptions& options,
           gen::ConcurrentKeys::KeyGenerator make, KeyedShape shape);
  Gen load() override;
  Gen final_reads() override;
  std::vector<Symbol> ops() const override { return workload_.ops(); }
  bool guarded() const override { return workload_.guarded(); }

 private:
  const Workload& workload_;
  const WorkloadOptions options_;
  const KeyedShape shape_;
  gen::ConcurrentKeys keys_;
};

// Of a group, so many workers (the first ones) only read: writes that hang must not keep all
// workers from seeing what is wrong.
int readers_of_group(int group_size);

// WorkloadRun::final_reads() of any operations that change nothing, asked for when they are due.
Gen final_operations(const WorkloadOptions& options, std::function<std::vector<Op>()> operations);
// The same of the keys that `keys` gives when it is asked, with `look` in place of a plain read.
Gen final_reads_of(const WorkloadOptions& options, std::function<std::vector<Symbol>()> keys,
                   std::function<Op(Symbol key)> look = {});

// Header members of a workload that is judged as a cas-register per key, null at first.
Value cas_register_header();
// The checkers that judge it.
std::vector<std::string> register_checkers();
// These, and those that judge every run of a cluster.
std::vector<std::string> with_usual_checkers(std::vector<std::string> first);

}  // namespace assay
