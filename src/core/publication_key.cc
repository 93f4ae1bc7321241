#include "core/publication_key.h"

#include <algorithm>
#include <string>

namespace semel::core {
namespace {

// Whether the last part of the key, behind a slash, is of digits alone.
bool ends_in_number(BytesView key) noexcept {
  const auto slash = key.rfind('/');
  if (slash == BytesView::npos || slash + 1 == key.size()) return false;
  return std::ranges::all_of(key.substr(slash + 1), [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace

Bytes publication_key(BytesView key, int number) {
  Bytes made(key);
  if (number > 1 || ends_in_number(key)) made += '/' + std::to_string(number);
  return made;
}

}  // namespace semel::core
