// Boost.JSON without its shared library: its sources are compiled here, and only here.
#include <boost/json/src.hpp>
