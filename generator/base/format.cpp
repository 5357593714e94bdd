#include "generator/base/format.h"

#if FMT_VERSION < 110000
template void fmt::detail::vformat_to<char>(fmt::detail::buffer<char>& out, fmt::basic_string_view<char> format,
                                            fmt::basic_format_args<fmt::buffer_context<char>> arguments,
                                            fmt::detail::locale_ref locale);
#endif
