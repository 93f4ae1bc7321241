// Disclosure: how much of the data of producers and handlers is shown to people who look at a run.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"

namespace semel::core {

struct Disclosure {
  // Payloads, values of headers, results of handlers and of steps.
  enum class Contents {
    kNone,    // their sizes
    kMasked,  // JSON without the values at `places`; the size of all else
    kFull
  };
  // Texts of errors, which may quote a message.
  enum class Errors {
    kText,
    kCause  // only the word at their beginning, if there is one
  };

  Contents contents = Contents::kFull;
  std::vector<json::Pointer> places;
  std::vector<std::string> headers;  // hidden where contents are masked, whatever their case
  Errors errors = Errors::kText;

  // The same for a reader who may see no contents.
  Disclosure without_contents() const {
    Disclosure made = *this;
    made.contents = Contents::kNone;
    return made;
  }
};

}  // namespace semel::core
