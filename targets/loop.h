// Loop: where everything of a run happens: one thread in the real runner (one io_context), virtual
// time in the simulator. Callbacks run on it one after another, never inside the call that
// registered them.
#pragma once

#include <functional>

#include "checkers/history/time.h"

namespace assay {

class Loop {
 public:
  virtual ~Loop() = default;
  // Since the run's start, monotonic. From the loop's own thread only.
  virtual Nanos now() const = 0;
  // Runs fn at that time or as soon after as the loop can. From the loop's own thread only.
  virtual void at(Nanos time, std::function<void()> fn) = 0;
  // Runs fn after what is queued already. From any thread: how blocking libraries come back.
  virtual void post(std::function<void()> fn) = 0;
};

}  // namespace assay
