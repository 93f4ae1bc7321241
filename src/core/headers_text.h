// Headers as one value of a row.
//
// Written as `4:name,5:value,` for each header: any bytes come back as they were, and a person can
// read them in a shell of the database.
#pragma once

#include <string>

#include <semel/message.h>

namespace semel::core {

std::string text_of(const Headers& headers);
// What cannot be read ends the list.
Headers headers_of(BytesView text);

}  // namespace semel::core
