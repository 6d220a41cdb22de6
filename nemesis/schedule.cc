#include "nemesis/schedule.h"

#include "checkers/history/vocabulary.h"
#include "workloads/gen/deck.h"

namespace assay {
namespace {

class FaultSchedule : public Generator {
 public:
  FaultSchedule(std::string_view kind, const std::vector<std::string>& shapes,
                const NemesisOptions& options)
      : start_(start_of(kind)),
        stop_(stop_of(kind)),
        options_(options),
        deck_(shapes, options.rng.stream("deck")) {
    Rng offset = options.rng.stream("offset");
    due_ = options.lead_in +
           Nanos{offset.between(0, std::max<int64_t>(0, options.interval.count - 1))};
    shape_ = deck_.draw();
  }

  Next next(const Context& context) override {
    if (waiting_) return Next::pending();
    if (!in_force_ && due_ + options_.duration > options_.end - options_.interval)
      return Next::done();
    const Worker lane = context.idlest();
    if (lane == kNoWorker) return Next::pending();
    Op op;
    op.process = kNemesis;
    op.f = in_force_ ? stop_ : start_;
    op.time = due_;
    if (!in_force_) op.value = Value::object({{Symbol("shape"), Value(shape_)}});
    return Next::ready(std::move(op), lane);
  }

  void taken(const Context& context, const Next&) override {
    waiting_ = true;
    if (!in_force_) started_ = context.now;
  }

  void update(const Context& context, Worker, const Op& completion) override {
    if (completion.f != start_ && completion.f != stop_) return;
    waiting_ = false;
    in_force_ = completion.f == start_;
    if (in_force_) {
      due_ = context.now + options_.duration;
    } else {
      due_ = std::max(context.now, started_ + options_.interval);
      shape_ = deck_.draw();
    }
  }

 private:
  Symbol start_;
  Symbol stop_;
  NemesisOptions options_;
  Deck<std::string> deck_;
  std::string shape_;
  Nanos due_;
  Nanos started_;
  bool waiting_ = false;
  bool in_force_ = false;
};

}  // namespace

Gen fault_schedule(std::string_view kind, const std::vector<std::string>& shapes,
                   const NemesisOptions& options) {
  return std::make_unique<FaultSchedule>(kind, shapes, options);
}

}  // namespace assay
