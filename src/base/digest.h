// SHA-256, over length-prefixed parts, cut to 16 bytes where a key or a fingerprint is made of it;
// and the signature made of it.
#pragma once

#include <array>
#include <initializer_list>
#include <span>
#include <string>

#include <semel/bytes.h>

namespace semel::digest {

using Digest = std::array<unsigned char, 32>;
using Short = std::array<unsigned char, 16>;

Digest sha256(BytesView data) noexcept;
// Each part preceded by its length, so that ("ab","c") and ("a","bc") differ. `domain` keeps uses
// apart.
Digest sha256_parts(std::string_view domain, std::span<const BytesView> parts) noexcept;
// HMAC (RFC 2104) with SHA-256.
Digest hmac_sha256(BytesView key, BytesView data) noexcept;
// In hexadecimal. Where something else names things by it; it keeps nobody from forging.
std::string sha1_hex(BytesView data);
Short shortened(const Digest& digest) noexcept;
// The bytes of a digest; borrowed.
inline BytesView view(std::span<const unsigned char> digest) noexcept {
  return {reinterpret_cast<const char*>(digest.data()), digest.size()};
}
std::string hex(BytesView bytes);

}  // namespace semel::digest
