// Model: the sequential behaviour that a store promises, for the linearizability check
// (check_model.h). A model of one's own is a state, and which state an operation leads to:
//
//   struct Counter : ModelOf<int64_t> {
//     std::string_view name() const override { return "counter"; }
//     std::vector<ModelCall> calls() const override {
//       return {{"add", "a number"}, {"read", "answers the sum", CallEffect::kObserves}};
//     }
//     int64_t initial(const ModelPart& part) const override { return part.initial.as_int(); }
//     std::optional<int64_t> step(const int64_t& sum, const ModelOp& op) const override {
//       if (op.f == f::add) return sum + op.argument.as_int();
//       return op.result == Value(sum) ? std::optional(sum) : std::nullopt;
//     }
//   };
//
// Models are stateless: any thread may use one. Everything below `step` has a default that is
// right; what makes the search quick says so.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "checkers/history/history.h"
#include "checkers/model_states.h"

namespace assay {

// What a model sees of an operation. Operations that are equal in all of it are interchangeable.
struct ModelOp {
  Symbol f;
  Symbol key;
  Value argument;             // of the invocation
  Value result;               // of the completion; null where the outcome is unknown
  OpType type = OpType::kOk;  // kInfo: unknown, so that the result says nothing
  friend bool operator==(const ModelOp&, const ModelOp&) = default;
};

enum class CallEffect : uint8_t {
  kObserves,  // it never changes the state
  kChanges,
  kResets,  // … and may lead out of a state in which something is lost (ModelOf::lost)
};

// How an operation counts.
enum class CallRole : uint8_t {
  kLeftOut,  // it did not happen, or says nothing
  kMust,     // it happened between its invocation and its completion
  kMay,      // it may have happened at any time after its invocation, or never
};

// An operation that a model has.
struct ModelCall {
  std::string_view f;
  std::string_view shape;  // of argument and answer, for people
  CallEffect effect = CallEffect::kChanges;
};

// What is judged by itself: a key, or several that operations connect.
struct ModelPart {
  std::vector<Symbol> names;
  Value initial;                  // of the first name
  std::vector<Value> initial_of;  // of each name
};

class Model {
 public:
  virtual ~Model() = default;
  virtual std::string_view name() const = 0;
  virtual std::string_view summary() const { return "a model of your own"; }  // one line
  virtual std::vector<ModelCall> calls() const = 0;

  // --- How a history is read.
  // What is wrong with the argument of an operation that calls() names, as "needs …, found …";
  // empty when nothing is. The same of the answer to an argument that is right.
  virtual std::string wrong(const Operation&) const { return ""; }
  virtual std::string wrong_answer(const Operation&) const { return ""; }
  // … of an initial value.
  virtual std::string wrong_initial(const Value&) const { return ""; }
  // The parts of the state that it concerns. Parts that no operation connects are judged apart.
  virtual std::vector<Symbol> touches(const Operation& operation) const;
  // How it counts, by op.type (which may be kInfo where the operation's is kFail: to see what rests
  // on failures); may simplify the op for `step`, so that more of them become equal. Default: what
  // was acknowledged must have happened, what failed did not, what is unknown may have.
  virtual CallRole role(const HistoryHeader& header, const Operation& operation, ModelOp& op) const;
  virtual CallEffect effect(const ModelOp& op) const;  // default: as calls() says
  // Whether an operation that happened need not have fitted, so that something was observed.
  // Default: what observes; all where the model has none that does, as a lock.
  virtual bool tells(const ModelOp& op) const;

  // --- Makes the search quick.
  // From every state: `earlier` fits, and `later` just after it leads where it leads without it.
  virtual bool hides(const ModelOp& /*later*/, const ModelOp& /*earlier*/) const { return false; }
  // True: every operation that is no observer fits in every state, and one of effect kResets leads
  // to the same state from every state.
  virtual bool resets_overwrite() const { return false; }
  // False: an order in which `later` fits still is one in which it fits when `change` is taken out
  // of it. Asked of changes that may never have happened.
  virtual bool shows(const ModelOp& /*later*/, const ModelOp& /*change*/) const { return true; }

  // --- Words.
  // What it did, in the past: "appended \"x\"". Default: its f, argument and answer.
  virtual std::string did(const Operation& operation) const;
  // What it is called when it is the last thing that nothing explains: "stale get".
  virtual std::string anomaly(const Operation& last) const;

  // The states of one search.
  virtual std::unique_ptr<ModelStates> states() const = 0;
};

// Model with a state of type State: copyable, ==, and something that state_hash() takes (numbers,
// strings, Symbol, Value, optional, pair, ranges of these, or a type with a hash() member).
template <typename State>
class ModelOf : public Model {
 public:
  virtual State initial(const ModelPart& part) const = 0;
  // The state after it; none where the answer or the state does not allow it.
  virtual std::optional<State> step(const State& state, const ModelOp& op) const = 0;
  // True: the observer can never fit again, whatever happens next but for operations of effect
  // kResets that show in it (shows()). Makes the search quick.
  virtual bool lost(const State&, const ModelOp& /*observer*/) const { return false; }
  // For people: "held by nobody".
  virtual std::string describe(const State&) const { return ""; }

  std::unique_ptr<ModelStates> states() const override {
    return std::make_unique<StatesOf<ModelOf, State>>(*this);
  }
};

}  // namespace assay
