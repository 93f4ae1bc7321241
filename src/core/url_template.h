// UrlTemplate: an endpoint's URL with places for values that differ from message to message.
//
//   https://bank/charges/{answer:charge/id}/refund?order={json:/order}
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <semel/bytes.h>
#include <semel/message.h>
#include <semel/result.h>

#include "base/json.h"

namespace semel::core {

struct UrlPlace {
  enum class Of {
    kMessage,  // {json:/pointer}, in its payload
    kHeader,   // {header:NAME}
    kAnswer,   // {answer:STEP/pointer}, in the answer of a step
  };
  Of of = Of::kMessage;
  std::string name;       // of the header, or the step
  json::Pointer pointer;  // into a payload, or an answer
  std::string written;    // with its braces
};

// The answers of steps, by their names.
using StepAnswers = std::vector<std::pair<std::string, Bytes>>;

// Pure. Thread-safe.
class UrlTemplate {
 public:
  // kRejected, with words that follow the URL's name.
  static Result<UrlTemplate> parse(std::string_view url);

  const std::vector<UrlPlace>& places() const noexcept { return places_; }
  // A place is in the path: each message asks for another resource.
  bool has_place_in_path() const noexcept;
  // An example of the URLs that it makes.
  std::string sample() const;
  // Fills in each value, escaped (RFC 3986) so that it stays within its place. Throws
  // PayloadInvalid, naming the place, where there is no single value, or one that would change the
  // path: an empty one, "." or "..".
  std::string url(const Message& message, const StepAnswers& answers) const;

 private:
  std::vector<std::string> texts_;  // before, between and behind the places
  std::vector<UrlPlace> places_;
};

}  // namespace semel::core
