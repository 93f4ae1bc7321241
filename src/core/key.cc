#include <semel/guard.h>
#include <semel/key.h>

#include "base/digest.h"
#include "core/key_encoding.h"

namespace semel {

ConsumerNumber KeyId::consumer() const noexcept {
  std::uint32_t number = 0;
  for (std::size_t i = 0; i < 4; ++i) number = number << 8 | bytes[i];
  return ConsumerNumber{number >> core::kKeyClassBits};
}

Fingerprint fingerprint_of(BytesView content) noexcept {
  Fingerprint fingerprint;
  fingerprint.bytes = digest::shortened(digest::sha256(content));
  return fingerprint;
}

}  // namespace semel
