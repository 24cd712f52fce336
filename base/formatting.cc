// The one copy of fmt's formatting that cmake/formatting.h lets all other sources use. libfmt has
// one too, but clang gives it another name than gcc, which compiled libfmt.
#include <fmt/format.h>

#if FMT_VERSION / 10000 == 9
template void fmt::detail::vformat_to<char>(buffer<char>&, basic_string_view<char>,
                                            basic_format_args<FMT_BUFFER_CONTEXT(char)>,
                                            locale_ref);
#endif
