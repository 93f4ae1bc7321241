// Bytes: the one type for data whose content Semel does not interpret.
//
// A key, a payload and a header value are bytes: they may hold NUL, and need not be UTF-8. Text
// that Semel itself writes or reads (names, reasons, SQL) is std::string as well, and is UTF-8.
#pragma once

#include <string>
#include <string_view>

#include <semel/standard.h>

namespace semel {

using Bytes = std::string;
using BytesView = std::string_view;

}  // namespace semel
