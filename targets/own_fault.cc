#include "targets/own_fault.h"

#include <memory>
#include <utility>

namespace assay {
namespace {

constexpr Nanos kPause = milliseconds(200);  // between two tries
constexpr int kNotInForce = 1;               // exit code of `verify`

// The last line that a command printed.
std::string last_words(const CommandOutput& ran) {
  std::string words = ran.out;
  words.erase(words.find_last_not_of(" \r\n") + 1);
  words.erase(0, words.rfind('\n') + 1);
  return words.substr(0, 200);
}

// One beginning or ending, while it is under way.
class Attempt : public std::enable_shared_from_this<Attempt> {
 public:
  Attempt(Loop& loop, Node& hand, std::string kind, FaultCommands commands, Nanos patience,
          Callback<Effect> done)
      : loop_(loop),
        hand_(hand),
        kind_(std::move(kind)),
        commands_(std::move(commands)),
        patience_(patience),
        limit_(loop.now() + patience),
        done_(std::move(done)) {}

  void begin() {
    if (!commands_.end) return run_begin();
    hand_.remedy(kind_, *commands_.end, [self = shared_from_this()](const Result<void>& promised) {
      promised ? self->run_begin() : self->fail(promised.error());
    });
  }

  void end() {
    if (!commands_.end) {
      effect_.installed = true;
      return loop_.post([self = shared_from_this()] { self->done_(self->effect_); });
    }
    run(commands_.verify, [](Attempt& self, const CommandOutput&, const std::string& why) {
      self.effect_.bit = why.empty();
      self.run_end();
    });
  }

 private:
  using Next = void (*)(Attempt& self, const CommandOutput& ran, const std::string& why);

  void fail(const Error& error) {
    done_(environment_error(hand_.name() + ": " + kind_ + ": " + error.message));
  }

  // `why` is empty where it exited 0. One that cannot be run ends the attempt.
  void run(const CommandSpec& command, Next next) {
    hand_.run(command, [self = shared_from_this(), next,
                        program = command.argv[0]](const Result<CommandOutput>& ran) {
      if (!ran) return self->conclude(ran.error().message);
      next(*self, *ran, complaint(program, *ran));
    });
  }
  bool is_late() const { return loop_.now() >= limit_; }
  void later(void (Attempt::*step)()) {
    loop_.at(loop_.now() + kPause, [self = shared_from_this(), step] { ((*self).*step)(); });
  }
  void conclude(const std::string& evidence) {
    effect_.evidence = hand_.name() + (evidence.empty() ? "" : ": " + evidence);
    done_(effect_);
  }

  void run_begin() {
    run(commands_.begin, [](Attempt& self, const CommandOutput& ran, const std::string& why) {
      if (!why.empty()) return self.conclude(why);
      self.effect_.installed = true;
      self.words_ = last_words(ran);
      self.limit_ = self.loop_.now() + self.patience_;
      self.verify_begun();
    });
  }
  void verify_begun() {
    run(commands_.verify, [](Attempt& self, const CommandOutput& ran, const std::string& why) {
      if (!why.empty() && !self.is_late()) return self.later(&Attempt::verify_begun);
      self.effect_.bit = why.empty();
      const std::string verified = why.empty() ? last_words(ran) : "not in force: " + why;
      const bool two = !self.words_.empty() && !verified.empty();
      self.conclude(self.words_ + (two ? "; " : "") + verified);
    });
  }

  void run_end() {
    run(*commands_.end, [](Attempt& self, const CommandOutput&, const std::string& why) {
      if (why.empty()) return self.verify_ended();
      if (!self.is_late()) return self.later(&Attempt::run_end);
      self.conclude(why);
    });
  }
  void verify_ended() {
    run(commands_.verify, [](Attempt& self, const CommandOutput& ran, const std::string& why) {
      const bool ended = !ran.timed_out && ran.end.signal == 0 && ran.end.code == kNotInForce;
      if (!ended && !self.is_late()) return self.later(&Attempt::run_end);
      if (!ended) return self.conclude(why.empty() ? "still in force" : "who knows? " + why);
      self.effect_.installed = true;
      self.hand_.forget(self.kind_, [self = self.shared_from_this()](const Result<void>& forgot) {
        forgot ? self->done_(self->effect_) : self->fail(forgot.error());
      });
    });
  }

  Loop& loop_;
  Node& hand_;
  const std::string kind_;
  const FaultCommands commands_;
  const Nanos patience_;
  Nanos limit_;
  const Callback<Effect> done_;
  Effect effect_;
  std::string words_;
};

}  // namespace

void begin_own_fault(Loop& loop, Node& hand, const std::string& kind, const FaultCommands& commands,
                     Nanos patience, Callback<Effect> done) {
  std::make_shared<Attempt>(loop, hand, kind, commands, patience, std::move(done))->begin();
}

void end_own_fault(Loop& loop, Node& hand, const std::string& kind, const FaultCommands& commands,
                   Nanos patience, Callback<Effect> done) {
  std::make_shared<Attempt>(loop, hand, kind, commands, patience, std::move(done))->end();
}

}  // namespace assay
