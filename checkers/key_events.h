// KeyEvents: what each operation did to each key, or saw of it, key by key in order of invocation.
// The one reading of read, write, cas, delete, list and txn that the checkers of versions share: a
// list is a read of each key in it, a txn a write of each key that it writes. Operations of other
// names are left out. Immutable; at most 150 bytes an event.
#pragma once

#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "checkers/history/history.h"

namespace assay {

enum class Did : uint8_t {
  kRead,
  kWrite,  // a write of null: a delete
  kGuard,  // a txn compared the token of a key that it does not write
};

struct KeyEvent {
  uint32_t id = 0;  // of the Operation
  Position call = 0;
  Position ret = kOpen;  // also of what is unknown: it may take effect at any time
  Did did = Did::kRead;
  OpType type = OpType::kInfo;
  bool conflict = false;  // refused since what it compared was not there
  bool alone = true;      // the operation concerns no other key, so that its refusal is this key's
  bool latest = false;    // it is claimed to be of the latest state: all but reads that are not
  Token revision;         // ok: the token of the state made or read, 0: absent; conflict: current
  Token at;               // the store's revision in the answer
  Token expected;         // the token that was compared, 0: absent
  Value value;            // written, or read

  bool ok() const { return type == OpType::kOk; }
  bool accepted() const { return did == Did::kWrite && ok(); }
  bool may_have_happened() const { return type != OpType::kFail; }
  bool guarded() const { return !expected.none(); }
  bool creates() const { return expected == Token(int64_t{0}); }
  bool deletes() const { return did == Did::kWrite && value.is_null(); }
  // What it says of the key's state: the token that it made, or found.
  bool tells_token() const { return (ok() || conflict) && !revision.none(); }
};

struct KeyTrack {
  Symbol key;
  std::vector<KeyEvent> events;  // by call
};

// What a list says of the keys under its prefix that are not in it.
enum class Absence : uint8_t { kIgnored, kRead };

class KeyEvents {
 public:
  explicit KeyEvents(const History& history, Absence absence = Absence::kIgnored);
  // Of these keys alone.
  KeyEvents(const History& history, const std::unordered_set<Symbol>& keys);
  const std::vector<KeyTrack>& keys() const { return keys_; }  // in order of first appearance
  // Lists whose absent keys were too many to be judged one by one.
  size_t lists_without_absence() const { return lists_without_absence_; }

 private:
  std::vector<KeyTrack> keys_;
  size_t lists_without_absence_ = 0;
};

// Whether KeyEvents reads operations of that name.
bool has_key_events(Symbol f);
// Whether they have no part in what keys hold: watch, compact.
bool leaves_keys_alone(Symbol f);
// An input error where an operation that has key events is malformed.
Result<void> key_events_fit(const History& history);
// The steps of a txn that write: key and value.
std::vector<std::pair<Symbol, Value>> writes_of_txn(const Value& steps);
std::vector<std::pair<Symbol, Token>> guards_of_txn(const Operation& txn);
Token token_of(const Value& value);
// A number that orders states; nothing where the token is none, or text.
std::optional<int64_t> number_of(Token token);

// --- Words.
std::string who(const Operation& operation);   // "p3 through n2", "p3 from n2"
std::string when(const Operation& operation);  // "1.2 s to 1.3 s"
std::string token_text(Token token);           // "7", "etag-7", "0 (absent)"
// "p3 through n2 wrote 5 at revision 7 on condition that revision 6 was current (1.2 s to 1.3 s)"
std::string sentence_of(const History& history, const KeyEvent& event);

}  // namespace assay
