// The bodies of Asio and Beast, compiled once for the whole program: their headers alone would be
// compiled again in every source that includes them.
#include <boost/asio/impl/src.hpp>
#include <boost/asio/ssl/impl/src.hpp>
#include <boost/beast/src.hpp>
