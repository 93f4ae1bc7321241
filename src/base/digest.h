// SHA-256 over length-prefixed parts, cut to 16 bytes for a key or a fingerprint; and HMAC with it.
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
// Each part is preceded by its length, so that ("ab","c") and ("a","bc") differ. `domain` separates
// different uses.
Digest sha256_parts(std::string_view domain, std::span<const BytesView> parts) noexcept;
// HMAC (RFC 2104) with SHA-256.
Digest hmac_sha256(BytesView key, BytesView data) noexcept;
// In hexadecimal. For systems that name things by it; it does not prevent forgery.
std::string sha1_hex(BytesView data);
Short shortened(const Digest& digest) noexcept;
// The bytes of a digest; borrowed.
inline BytesView view(std::span<const unsigned char> digest) noexcept {
  return {reinterpret_cast<const char*>(digest.data()), digest.size()};
}
std::string hex(BytesView bytes);

}  // namespace semel::digest
