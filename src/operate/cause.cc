#include "operate/cause.h"

#include <algorithm>
#include <array>

#include <semel/reason.h>

namespace semel::operate {

namespace {

constexpr std::string_view kGivenUp = "an operator gave it up: ";

// The reasons of Semel begin so. A word of a handler's own may be a person's name, or a number.
constexpr std::array<std::string_view, 10> kReasons = {
    "key.",   "payload.", "handler.", "attempts.", "elapsed.",
    "lease.", "outcome.", "steps.",   "store.",    "version."};

bool is_reason(std::string_view text) noexcept {
  const bool known =
      std::ranges::any_of(kReasons, [&](std::string_view one) { return text.starts_with(one); });
  return known && std::ranges::all_of(text, [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '_' ||
                  c == '-';
         });
}

}  // namespace

std::string_view cause_of(std::string_view reason, std::string_view error) noexcept {
  const bool hides = reason == reason::kAttemptsExhausted || reason == reason::kElapsedExhausted ||
                     reason == reason::kOutcomeUnknown || reason == reason::kOperator;
  if (!hides) return {};
  if (error.starts_with(kGivenUp)) error.remove_prefix(kGivenUp.size());
  const auto end = error.find(": ");
  if (end == std::string_view::npos || !is_reason(error.substr(0, end))) return {};
  return error.substr(0, end);
}

std::string given_up_text(std::string_view error) {
  return std::string(kGivenUp) + std::string(error);
}

}  // namespace semel::operate
