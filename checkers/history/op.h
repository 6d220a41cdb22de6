// Op: one line of a history: an invocation or a completion. It is what generators make, clients
// and nemeses take and give back, and the recorder writes. Plain data; copy it freely.
#pragma once

#include <compare>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "checkers/history/symbol.h"
#include "checkers/history/time.h"
#include "checkers/history/value.h"

namespace assay {

enum class OpType : uint8_t {
  kInvoke,
  kOk,    // happened
  kFail,  // never happened and never will
  kInfo,  // unknown: may have happened, may happen later, may never happen
};
std::string_view to_string(OpType type);  // "invoke", "ok", "fail", "info"

// A logical single-threaded client. After an info the worker goes on under a new number
// (old number + count of workers). The nemesis and the observer are not clients.
struct Process {
  int64_t id = 0;
  friend auto operator<=>(Process, Process) = default;
  bool is_client() const { return id >= 0; }
};
inline constexpr Process kNemesis{-1};
inline constexpr Process kObserver{-2};

// The version of a key's state, or the store's revision, as the store named it: compared for
// equality; ordered only where the target claims that its tokens are orderable.
class Token {
 public:
  Token() = default;  // none: absent from the line
  explicit Token(int64_t number) : kind_(Kind::kNumber), bits_(number) {}
  explicit Token(Symbol text) : kind_(Kind::kText), bits_(text.id()) {}

  bool none() const { return kind_ == Kind::kNone; }
  bool is_number() const { return kind_ == Kind::kNumber; }
  int64_t number() const { return bits_; }
  Symbol text() const { return Symbol::from_id(static_cast<uint32_t>(bits_)); }
  Value to_value() const;

  friend bool operator==(Token, Token) = default;

 private:
  enum class Kind : uint8_t { kNone, kNumber, kText };
  Kind kind_ = Kind::kNone;
  int64_t bits_ = 0;
};

struct OpError {
  Symbol cls;        // "conflict", "refused", "timeout", … : docs in targets/target.h
  std::string text;  // for people
  Token current;     // of a conflict: the token that the store holds now
  Value extra;       // anything else in it, as an object
};

struct Op {
  int64_t index = -1;      // of the line; strictly increasing; set by the recorder
  Nanos time{-1};          // -1: absent
  Process process;
  OpType type = OpType::kInvoke;
  Symbol f;                // from the op vocabulary: read, write, cas, …
  Symbol key;              // empty: the operation has no key
  Value value;             // argument on the invocation, result on the completion
  Symbol node;             // which node it was sent to
  Token revision;          // completion: token of the key's state
  Token at;                // completion: the store's revision in the answer's header
  Token expected;          // invocation: token that a guarded write compares
  std::optional<OpError> error;
  Nanos scheduled{-1};     // invocation: when the operation was due; -1: absent
  // Anything else on the line: intent, session, seq, phase, and fields of others, as an object.
  Value extra;
};

// The words of the op vocabulary that the code itself speaks. `assay list workloads` shows them.
namespace f {
inline const Symbol read{"read"}, write{"write"}, cas{"cas"}, delete_{"delete"}, add{"add"},
    append{"append"}, txn{"txn"}, watch{"watch"};
inline const Symbol status{"status"}, exit{"exit"}, log{"log"}, clock{"clock"}, host{"host"};  // the observer's
}  // namespace f

// The invocation as completed: same process, f, key, value and node.
Op complete(const Op& invocation, OpType type);
Op complete(const Op& invocation, OpType type, OpError error);

}  // namespace assay
