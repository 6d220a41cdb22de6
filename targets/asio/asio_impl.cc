// The one unit that compiles Asio, Beast and Boost.Process (their separate compilation); every
// other unit that includes them sees declarations only.
#include <boost/asio/impl/src.hpp>
#include <boost/beast/src.hpp>
#include <boost/process/v2/src.hpp>
