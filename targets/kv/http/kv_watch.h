// The watch of a KvClient: one operation that collects, for a while, what a store's watch stream
// tells (checkers/history/watch_value.h), and then closes the stream.
#pragma once

#include <functional>
#include <string>

#include "checkers/history/op.h"
#include "checkers/history/watch_value.h"
#include "targets/kv/http/http_client.h"
#include "targets/kv/http/kv_client.h"
#include "targets/loop.h"

namespace assay {

// Sends it, and calls done once: when the time that it wishes for is over, after a thousand events,
// or when the stream ends. `explain` says what an answer without a stream means. The client is busy
// until then; destroying it abandons the watch.
void start_kv_watch(Loop& loop, HttpClient& client, const Op& op, const KvClientOptions& options,
                    std::function<Op(HttpReply)> explain, std::function<void(Op)> done);

// --- The pure parts ------------------------------------------------------------------------------

// What is sent: the changes of all keys with the prefix, each with the version before it, and
// progress.
std::string kv_watch_body(const WatchWish& wish, const KvClientOptions& options);

// Takes the stream in pieces.
class WatchCollector {
 public:
  WatchCollector(const WatchWish& wish, const KvClientOptions& options);

  // False: there is nothing more to wait for.
  bool add(std::string_view piece);

  bool created() const { return created_; }
  bool malformed() const { return malformed_; }
  // Not empty: the store does not serve this watch, and says why.
  const std::string& refusal() const { return refusal_; }
  // What came so far. `otherwise`: how it ended, unless the store or the bound did that.
  WatchSeen seen(WatchEnd otherwise) const;

 private:
  void take(std::string_view line);
  void cut_to_bound();

  WatchWish wish_;
  std::string key_prefix_;
  std::string line_;  // the beginning of one
  WatchSeen seen_;
  bool created_ = false;
  bool over_ = false;
  bool full_ = false;  // by the bound
  bool malformed_ = false;
  std::string refusal_;
};

}  // namespace assay
