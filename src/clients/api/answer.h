// The answer of the API of a run, as a document or as an error. Pure.
#pragma once

#include <string>
#include <string_view>

#include <semel/result.h>

namespace semel::api_client {

struct Answer {
  int status = 0;
  std::string content_type;
  std::string body;
};

// The document of a good answer. A problem (RFC 9457) is the error that it says, with its code and
// its fix. R362: what answers is not the API of a run.
Result<std::string> document_of(Answer answer, std::string_view url);

}  // namespace semel::api_client
