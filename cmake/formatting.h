// A part of the precompiled headers: fmt's formatting of everything, of which each source that
// formats or logs would have a copy, is compiled in base/formatting.cc. Without this declaration
// half of the time of compiling such a source goes into the copy.
#pragma once

#include <fmt/format.h>

#if FMT_VERSION / 10000 == 9  // other versions have other parameters
extern template void fmt::detail::vformat_to<char>(buffer<char>&, basic_string_view<char>,
                                                   basic_format_args<FMT_BUFFER_CONTEXT(char)>,
                                                   locale_ref);
#endif
