// fmt, whose formatter is compiled once, in format.cpp: fmt is header-only here, and each file that formats would take
// seconds more to compile.
#pragma once

#include <fmt/format.h>

#if FMT_VERSION < 110000  // later ones declare it otherwise; then every file has its own
extern template void fmt::detail::vformat_to<char>(fmt::detail::buffer<char>& out, fmt::basic_string_view<char> format,
                                                   fmt::basic_format_args<fmt::buffer_context<char>> arguments,
                                                   fmt::detail::locale_ref locale);
#endif
