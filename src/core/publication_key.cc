#include "core/publication_key.h"

#include <algorithm>
#include <string>

#include "base/ascii.h"

namespace semel::core {
namespace {

// Whether the last part of the key, behind a slash, is of digits alone.
bool ends_in_number(BytesView key) noexcept {
  const auto slash = key.rfind('/');
  if (slash == BytesView::npos || slash + 1 == key.size()) return false;
  return std::ranges::all_of(key.substr(slash + 1), ascii::is_digit);
}

}  // namespace

Bytes publication_key(BytesView key, int number) {
  Bytes made(key);
  if (number > 1 || ends_in_number(key)) made += '/' + std::to_string(number);
  return made;
}

}  // namespace semel::core
