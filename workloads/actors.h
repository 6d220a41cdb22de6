// Actors: generators written as what each worker does by itself: asked for its next operation when
// it is free, told what became of the last one. For loads in which a worker decides by what it has
// observed.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "workloads/gen/generator.h"

namespace assay {

// What one worker does. On the generator's thread; pure but for its own state and what it shares
// with the other actors of its run.
class Actor {
 public:
  struct Turn {
    Op op;             // without process and time
    Nanos not_before;  // the actor waits until then
  };

  virtual ~Actor() = default;
  // Its next operation. Asked once, before that operation is begun; done() follows.
  virtual Turn turn(Nanos now) = 0;
  // The completion, `now` being the time at which it was taken in.
  virtual void done(const Op& completion, Nanos now) = 0;
  // Nothing that it has begun would be left in the middle if it were never asked again.
  virtual bool between() const { return true; }
};

// `make` is called for each worker of the share, by its place from 0.
using MakeActor = std::function<std::unique_ptr<Actor>(int place)>;

// Over the workers of a share. After `operations` (0: no bound) it asks only those actors that are
// in the middle of something, and is done when none of them is.
Gen actors(MakeActor make, int64_t operations);

}  // namespace assay
