// same_bytes: compares secrets in constant time.
#pragma once

#include <cstddef>

#include <semel/bytes.h>

namespace semel {

// Takes as long for wrong bytes as for the right ones of that length.
inline bool same_bytes(BytesView given, BytesView secret) noexcept {
  if (given.size() != secret.size()) return false;
  unsigned difference = 0;
  for (std::size_t i = 0; i < given.size(); ++i) {
    difference |= static_cast<unsigned char>(given[i]) ^ static_cast<unsigned char>(secret[i]);
  }
  return difference == 0;
}

}  // namespace semel
