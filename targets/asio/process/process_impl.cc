// The one unit that compiles Boost.Process (its separate compilation). Apart from Asio's: it needs
// Boost.Filesystem, which programs that are linked statically do without.
#include <boost/asio/detail/throw_error.hpp>  // which 1.81's Process forgets to include
#include <boost/process/v2/src.hpp>
