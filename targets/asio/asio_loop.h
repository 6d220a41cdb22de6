// AsioLoop: a Loop that is an Asio io_context. Clients that use sockets need one; a Loop of another
// kind (virtual time) has no sockets, and they say so.
#pragma once

#include "targets/loop.h"

namespace boost::asio {
class io_context;
}

namespace assay {

class AsioLoop : public Loop {
 public:
  // Run by one thread: the loop's own.
  virtual boost::asio::io_context& context() = 0;
};

// The io_context behind a loop; nullptr when it is of another kind.
inline boost::asio::io_context* context_of(Loop& loop) {
  auto* with_sockets = dynamic_cast<AsioLoop*>(&loop);
  return with_sockets == nullptr ? nullptr : &with_sockets->context();
}

}  // namespace assay
