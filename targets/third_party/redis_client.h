// The Client of target "redis", and what an answer of Redis means.
//
// A value is stored as its JSON text; null is stored as absence (writing it deletes). Operations:
// read, write, delete, and cas, which compares the stored text in one script on the server. There
// are no revisions: a guarded change is refused.
#pragma once

#include <memory>
#include <optional>
#include <string_view>

#include "targets/target.h"
#include "targets/third_party/redis_connection.h"

namespace assay {

struct RedisClientOptions {
  bool any_node_reads = false;  // else only a node that takes itself for the primary answers reads
  int wait = 0;                 // replicas that must have a change before it is ok
  int wait_ms = 800;            // that Redis has for it
};

// As Target::open_client wants it. The loop must outlive the client.
void open_redis_client(Loop& loop, const NodeInfo& node, const RedisClientOptions& options,
                       Callback<std::unique_ptr<Client>> done);

// --- The pure parts ------------------------------------------------------------------------------

// The completion of an operation that cannot be sent: it is guarded. Else none.
std::optional<Op> redis_refusal_of(const Op& op);

// What is sent for an operation without refusal. One that is not served aborts: a plan never has
// one.
RedisCommand redis_command_of(const Op& op, const RedisClientOptions& options);

// What became of it: the one place that decides between ok, fail and info. fail only if nothing
// was sent, or if Redis says so with an error that the table calls definite.
Op redis_completion_of(const Op& op, const RedisReply& reply);

// What became of a change that was done on its node, from the answer to the WAIT after it: ok, or
// unknown. Never a failure: the node has it, and may pass it on later.
Op redis_wait_completion_of(const Op& op, const RedisClientOptions& options,
                            const RedisReply& reply);

// The table of REDIS.md.
struct RedisErrorMeaning {
  std::string_view begins;  // of the error's text
  std::string_view cls;     // the operation's error class (targets/target.h)
  bool definite = false;    // the operation was never done and never will be
};
// The first row that fits. What the table does not know is not definite.
const RedisErrorMeaning& redis_meaning_of(std::string_view error);

}  // namespace assay
