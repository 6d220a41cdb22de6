// KvClient: the Client of every store that speaks etcd v3's JSON API, and the questions that
// observers ask such a store.
//
// A value is stored as its JSON text; null is stored as absence (writing it deletes). Operations:
// - read, write, delete, and cas. A change with op.expected (0: absent) happens only where that is the
//   key's token; a cas without it compares the stored text with the old value. A
//   completion carries the key's revision (0: absent) and, as `at`, the store's; that of a deletion
//   also, as extra `deleted`, how many keys there were.
// - list: the key is a prefix (empty: every key); the completion's value is
//   [[key, value, revision], …] of the live keys, ascending, as they were at one moment: the
//   revision `at`.
// - txn: the value is [["w", key, value], …], and `guards` beside it [[key, token], …]. All guards
//   hold and all writes happen, or nothing does; a conflict's `current` is the token of the first
//   guarded key that has another one than was expected, and error.extra names that key. Where tokens
//   are not the store's revision, a completion says those that it made in extra `revisions`.
// - watch: as watch_value.h says.
// - compact: the value is the revision before which the store is to forget its history.
// Nothing is ever sent twice, unless the options say so.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "targets/kv/http/http_client.h"
#include "targets/target.h"

namespace assay {

// Where a client has the tokens of keys from.
enum class KvTokens : uint8_t {
  kRevision,    // the store's revision is the token of what a change has written
  kReadBack,    // a change reads what it has written, and with it the token; there is no `at`
  kKeyVersion,  // the same, and the token is a text: the revision at which the key was created, and
                // the key's own version since then, "17.3"; a guard compares both
  kNone,        // it has none: it guards by the value that it last read (value_guards.h)
};

struct KvClientOptions {
  bool serializable_reads = false;  // any node may answer them from what it has
  std::string key_prefix;           // of every key in the store
  // Where it is given: true from the first compaction on that a client is asked for.
  std::shared_ptr<bool> compacted;
  KvTokens tokens = KvTokens::kRevision;
  // Wrong on purpose: a request without an answer that says what became of it is sent again, once,
  // on a new connection, and the second answer is the operation's.
  bool resends = false;
};

// The kinds of token that are sound, by the names that settings of targets take; the first is the
// usual one.
std::vector<std::string> sound_kv_tokens();
std::optional<KvTokens> find_sound_kv_tokens(std::string_view name);
// The option of a target that chooses one of them.
TargetOption kv_token_option();

// Whether a watch has a place to begin at: a revision of the store, or now where there are no tokens.
bool kv_client_watches(KvTokens tokens);
// Each f that a KvClient serves with such tokens.
std::vector<Symbol> kv_client_ops(KvTokens tokens);

// Null when the loop has no sockets (targets/asio/asio_loop.h). The loop must outlive the client.
std::unique_ptr<Client> make_kv_client(Loop& loop, const NodeInfo& node, KvClientOptions options);
// The same as Target::open_client wants it.
void open_kv_client(Loop& loop, const NodeInfo& node, KvClientOptions options,
                    Callback<std::unique_ptr<Client>> done);

// Target::status and Target::chain for stores that have /assay/status and /assay/chain. The error's
// message is one word where the node is unreachable: "refused", "timeout", "reset".
void fetch_kv_status(Loop& loop, const NodeInfo& node, Callback<Value> done);
void fetch_kv_chain(Loop& loop, const NodeInfo& node, int64_t count, Callback<Value> done);

// One request on a connection of its own; the body of an answer with status 200. Gives up after a
// second; errors as above.
void ask_kv(Loop& loop, const NodeInfo& node, std::string_view method, std::string_view target,
            std::string_view body, Callback<std::string> done);

// --- The pure parts ------------------------------------------------------------------------------

struct KvCall {
  std::string_view target;
  std::string body;
};
// The completion of an operation that cannot be sent: a guard is no token of this kind, or a txn has
// not the form above. Else none.
std::optional<Op> kv_refusal_of(const Op& op, const KvClientOptions& options = {});

// What is sent for an operation without refusal. One that is not served aborts: a plan never has
// one.
KvCall kv_call_of(const Op& op, const KvClientOptions& options);

// What became of it: the one place that decides between ok, fail and info. fail only if nothing
// was sent, or if the store says so with an error that the table (error_table.h) calls definite.
Op kv_completion_of(const Op& op, HttpReply reply, const KvClientOptions& options = {});

}  // namespace assay
