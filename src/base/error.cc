#include <semel/error.h>

#include <fmt/format.h>

#include <algorithm>

#include "base/ascii.h"

namespace semel {

namespace {

// "R250", and not "handler.sql.syntax".
bool has_page(const std::string& code) {
  constexpr std::size_t kLength = 4;
  return code.size() == kLength && std::all_of(code.begin() + 1, code.end(), ascii::is_digit);
}

}  // namespace

std::string to_string(const Error& error) {
  std::string text = error.message;
  if (const std::string tag = fmt::format("[{}]", error.code);
      has_page(error.code) && text.find(tag) == std::string::npos) {
    text.insert(0, tag + " ");
  }
  if (!error.hint.empty()) text += "; fix: " + error.hint;
  return text;
}

const char* to_string(ErrorKind kind) noexcept {
  switch (kind) {
    case ErrorKind::kUnavailable:
      return "unavailable";
    case ErrorKind::kInDoubt:
      return "in_doubt";
    case ErrorKind::kRetryTransaction:
      return "retry_transaction";
    case ErrorKind::kBlocked:
      return "blocked";
    case ErrorKind::kRejected:
      return "rejected";
    case ErrorKind::kLimit:
      return "limit";
  }
  return "unknown";
}

}  // namespace semel
