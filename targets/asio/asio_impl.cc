// The one unit that compiles Asio and Beast (their separate compilation); every other unit that
// includes them sees declarations only.
#include <boost/asio/impl/src.hpp>
#include <boost/beast/src.hpp>
