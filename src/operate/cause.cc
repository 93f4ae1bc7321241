#include "operate/cause.h"

#include <algorithm>

#include <semel/reason.h>

namespace semel::operate {

namespace {

constexpr std::string_view kGivenUp = "an operator gave it up: ";

bool is_word(std::string_view text) noexcept {
  return text.find('.') != std::string_view::npos && std::ranges::all_of(text, [](char c) {
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
  if (end == std::string_view::npos || !is_word(error.substr(0, end))) return {};
  return error.substr(0, end);
}

std::string given_up_text(std::string_view error) {
  return std::string(kGivenUp) + std::string(error);
}

}  // namespace semel::operate
