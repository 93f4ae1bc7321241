// Headers as one value of a row.
//
// Written as `4:name,5:value,` for each header: any bytes are preserved, and people can read them
// in a database shell.
#pragma once

#include <string>

#include <semel/message.h>

namespace semel::core {

std::string text_of(const Headers& headers);
// Ends the list at the first header that cannot be read.
Headers headers_of(BytesView text);

}  // namespace semel::core
