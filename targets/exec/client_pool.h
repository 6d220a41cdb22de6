// ClientPool: the client programs of one node that have been started, have answered a first request
// and wait for a worker. So no operation pays for the start of a program, and an interpreter that
// takes a second to start does not time out again and again.
//
// A client that is dropped between operations goes back into the pool; one that is dropped during
// one, or after one whose outcome is unknown, or that has broken, is killed and another started in
// its place. On the Loop's thread.
#pragma once

#include <deque>
#include <functional>
#include <memory>

#include "targets/target.h"

namespace assay::exec {

class ClientPool : public std::enable_shared_from_this<ClientPool> {
 public:
  struct Options {
    std::function<Result<std::unique_ptr<Client>>()> start;  // a new program
    Op first_request;              // any answer will do; an operation that changes nothing
    Nanos patience = seconds(30);  // for that answer
  };
  ClientPool(Loop& loop, Options options) : loop_(loop), options_(std::move(options)) {}

  // Starts so many, and is done when all have answered or one has not.
  void fill(int count, Callback<void> done);
  // As Target::open_client: from the pool, else once there is one.
  void take(Callback<std::unique_ptr<Client>> done);
  // Kills what waits, and takes nothing back any more.
  void close();

 private:
  class Lent;
  struct Starting;
  void start();
  void started(const std::shared_ptr<Starting>& starting, Result<void> result);
  void returned(std::unique_ptr<Client> client, bool in_order);

  Loop& loop_;
  Options options_;
  std::deque<std::unique_ptr<Client>> ready_;
  std::deque<std::shared_ptr<Starting>> starting_;
  std::deque<Callback<std::unique_ptr<Client>>> waiting_;
  size_t size_ = 0;  // as filled: never more wait, nor are being started
  bool closed_ = false;
};

}  // namespace assay::exec
