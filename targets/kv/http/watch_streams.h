// WatchStreams: the watches that clients of one server have open. Each is a stream of lines, one
// JSON object a line, as etcd's gateway sends them.
//
// A client that reads slowly holds back its own stream only, and only so much waits for it here:
// what it has not been told yet is read from the store's event log when there is room again, and
// where a compaction was faster, its watch ends with that error.
//
// Threads: the io_context's one thread. It must be destroyed before the io_context.
#pragma once

#include <functional>
#include <map>
#include <memory>

#include "targets/kv/http/http_front.h"
#include "targets/kv/http/http_server.h"
#include "targets/kv/service/watcher.h"

namespace assay {

struct WatchStreamsOptions {
  int progress_interval_ms = 500;  // between progress notifications, for those who asked for them
  size_t unsent_bytes_max = 64 * 1024;  // of one stream; a single answer may exceed it
  kv::WatchCanary canary;
};

class WatchStreams {
 public:
  // Both are asked anew whenever something may have changed, so the store may be another one then.
  struct Source {
    std::function<const kv::Store&()> store;
    std::function<kv::Header()> header;
  };

  WatchStreams(boost::asio::io_context& context, Source source, WatchStreamsOptions options = {});
  ~WatchStreams();  // closes them all
  WatchStreams(const WatchStreams&) = delete;
  WatchStreams& operator=(const WatchStreams&) = delete;

  void open(kv::WatchRequest request, Responder respond);
  // The store has changed: something was applied, or it is another one. Tells them soon; cheap.
  void notify();
  size_t size() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace assay
