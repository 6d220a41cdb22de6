// The client program's protocol: what Assay writes on its standard input and reads from its
// standard output, one JSON object a line. Pure: no process here.
//
//   {"id":7,"f":"cas","key":"k","value":[1,2],"expected":41,"node":"n2",
//    "address":"10.0.0.2:2379","timeout_ms":900}
//
// One request at a time; each answer is flushed, and the program ends at the end of its input. The
// first request of each is a read of the key "assay-trial", which no workload uses: any answer
// shows that the program works. After an answer that is unknown the next request comes from another
// logical client: what may still come back on an old connection must not answer it.
//
// `value` is the argument, absent for read and delete; null in a write means absent. `expected`:
// the token that a guarded write, cas or delete compares (then a cas compares nothing else);
// absent: no guard.
//
//   {"id":7,"type":"ok","value":2,"revision":42,"at":42}
//   {"id":7,"type":"fail","error":{"class":"conflict","text":"…","current":43}}
//   {"id":7,"error":{"code":"no-leader","text":"…"}}
//
// type: ok; fail: it certainly never happened and never will; info: unknown. Without a type, the
// description's `errors` say what the code means; a code that is not there is unknown. Where both
// are said, the weaker counts. `value` is what an ok read found, and must be there (null: absent);
// in the answer to a write, ok or unknown, it is the argument again, if it is there at all.
// `revision` is the token of the key's state and `at` the store's: a whole number or a string.
// Classes: target.h. Members that are not named here are not looked at.
//
// Streams (f is watch, lease or session): any number of {"id":9,"event":…} before the answer that
// ends it. {"cancel":9} asks for that answer. No workload asks for streams yet, nor for add, append
// and txn: a description may name them, and the run says that they are not tested.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "checkers/history/error.h"
#include "checkers/history/op.h"

namespace assay::exec {

// What an error code means: definite (fail) or unknown (info), and the class of it.
struct ErrorMeaning {
  bool definite = false;
  std::string cls;
};
using ErrorTable = std::map<std::string, ErrorMeaning, std::less<>>;

struct RequestTo {
  std::string node;
  std::string address;  // with its port
  Nanos timeout{};
};

// Both end in a newline.
std::string request_line(int64_t id, const Op& op, const RequestTo& to);
std::string cancel_line(int64_t id);

struct AnswerError {
  std::string code;
  std::string cls;
  std::string text;
  Token current;
};

// An answer line as it stands.
struct Answer {
  int64_t id = 0;
  std::optional<Value> event;  // of a stream: then nothing else counts
  std::optional<OpType> type;
  std::optional<Value> value;
  Token revision;
  Token at;
  std::optional<AnswerError> error;
};

// Errors say what the program did, as "wrote a line that is not JSON: …".
Result<Answer> parse_answer(std::string_view line);

bool is_stream(Symbol f);

// The completion of an operation by an answer that is no event. Errors as above.
Result<Op> completion_of(const Op& op, const Answer& answer, const ErrorTable& errors);

}  // namespace assay::exec
