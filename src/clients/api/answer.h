// Converts an answer of a run's API to a document or an error. Pure.
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

// Returns the document of a successful answer. A problem (RFC 9457) becomes the error that it
// describes, with its code and fix. R362: the answer does not come from the API of a run.
Result<std::string> document_of(Answer answer, std::string_view url);

}  // namespace semel::api_client
