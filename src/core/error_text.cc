#include "core/error_text.h"

#include <fmt/format.h>

namespace semel::core {

std::string text_with_hint(const Error& error) {
  return error.hint.empty() ? error.message : fmt::format("{}; {}", error.message, error.hint);
}

}  // namespace semel::core
