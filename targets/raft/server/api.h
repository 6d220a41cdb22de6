// Api: HTTP requests to a replica, and its answers back to HTTP.
#pragma once

#include <functional>

#include "targets/kv/http/http_front.h"
#include "targets/kv/http/http_server.h"
#include "targets/kv/http/watch_streams.h"
#include "targets/raft/replica/replica.h"
#include "targets/raft/server/options.h"

namespace assay::raft {

class Api {
 public:
  // The replica must outlive it and every call that it was given; it must be destroyed before the
  // io_context.
  Api(boost::asio::io_context& context, const ServerOptions& options, Replica& replica,
      std::function<uint64_t()> disk_bytes);

  void handle(const HttpRequest& request, Responder respond);
  // The replica has applied something, or holds another state machine: whoever watches is told.
  void store_changed() { watches_.notify(); }

  // What the observer samples.
  kv::NodeStatus node_status() const;
  const std::string& name_of(NodeId id) const;  // empty: none

 private:
  kv::Header header() const;
  HttpResponse answer(const kv::FrontRequest& query) const;
  HttpResponse chain(const kv::ChainQuery& query) const;
  std::vector<kv::Member> members() const;
  void serve(kv::Request request, Responder respond);
  HttpResponse render(const Answer& answer) const;

  const ServerOptions& options_;
  const uint64_t cluster_id_;
  Replica& replica_;
  const std::function<uint64_t()> disk_bytes_;
  WatchStreams watches_;
};

// What a client is told about a request that the replica did not do, or does not know about.
kv::Error error_of(Fate fate, Reason reason);

}  // namespace assay::raft
