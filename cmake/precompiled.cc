// The precompiled headers (Splitnic.cmake) need a source to be compiled with.
#include "cmake/formatting.h"
