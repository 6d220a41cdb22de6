// The one unit that compiles Asio and Beast (their separate compilation); every other unit that
// includes them sees declarations only.
//
// Without its resolver: addresses are numeric here, and looking names up does not work in a program
// that is linked statically (the linker warns of it). Who uses the resolver does not link.
#include <netdb.h>

namespace {
inline int no_getaddrinfo(const char*, const char*, const addrinfo*, addrinfo**) {
  return EAI_FAIL;
}
}  // namespace
#define getaddrinfo no_getaddrinfo

#include <boost/asio/impl/src.hpp>
#include <boost/beast/src.hpp>
