// Headers as one value of a row.
//
// Written as `4:name,5:value,` for each header: any bytes come back as they were, and a person can
// read them in the sqlite3 shell.
#pragma once

#include <string>

#include <semel/message.h>

namespace semel::sqlite {

std::string text_of(const Headers& headers);
// What cannot be read ends the list.
Headers headers_of(BytesView text);

}  // namespace semel::sqlite
