#include "base/digest.h"

#include <openssl/evp.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>

namespace semel::digest {
namespace {

[[noreturn]] void no_digest() noexcept {
  std::fputs("semel: the cryptography library cannot compute SHA-256 and SHA-1\n", stderr);
  std::abort();
}

// Fetching the algorithm and making a context cost more than hashing a small message, so each
// thread keeps its own.
class Hasher {
 public:
  Hasher() noexcept
      : algorithm_(EVP_MD_fetch(nullptr, "SHA256", nullptr)), context_(EVP_MD_CTX_new()) {
    if (algorithm_ == nullptr || context_ == nullptr) no_digest();
  }
  ~Hasher() {
    EVP_MD_CTX_free(context_);
    EVP_MD_free(algorithm_);
  }
  Hasher(const Hasher&) = delete;
  Hasher& operator=(const Hasher&) = delete;

  static Hasher& of_thread() noexcept {
    thread_local Hasher hasher;
    return hasher;
  }

  void begin() noexcept {
    if (EVP_DigestInit_ex2(context_, algorithm_, nullptr) != 1) no_digest();
  }
  void add(BytesView data) noexcept {
    if (EVP_DigestUpdate(context_, data.data(), data.size()) != 1) no_digest();
  }
  void add_with_length(BytesView data) noexcept {
    unsigned char length[8];
    for (std::size_t i = 0; i < sizeof length; ++i) {
      length[i] = static_cast<unsigned char>(std::uint64_t{data.size()} >> (8 * (7 - i)));
    }
    add({reinterpret_cast<const char*>(length), sizeof length});
    add(data);
  }
  Digest end() noexcept {
    Digest digest;
    unsigned size = 0;
    if (EVP_DigestFinal_ex(context_, digest.data(), &size) != 1 || size != digest.size()) {
      no_digest();
    }
    return digest;
  }

 private:
  EVP_MD* algorithm_;
  EVP_MD_CTX* context_;
};

}  // namespace

Digest sha256(BytesView data) noexcept {
  Hasher& hasher = Hasher::of_thread();
  hasher.begin();
  hasher.add(data);
  return hasher.end();
}

Digest sha256_parts(std::string_view domain, std::span<const BytesView> parts) noexcept {
  Hasher& hasher = Hasher::of_thread();
  hasher.begin();
  hasher.add_with_length(domain);
  for (BytesView part : parts) hasher.add_with_length(part);
  return hasher.end();
}

Digest hmac_sha256(BytesView key, BytesView data) noexcept {
  constexpr std::size_t kBlock = 64;
  unsigned char inner[kBlock] = {};
  if (key.size() > kBlock) {
    const Digest short_key = sha256(key);
    std::copy(short_key.begin(), short_key.end(), inner);
  } else {
    std::copy(key.begin(), key.end(), inner);
  }
  unsigned char outer[kBlock];
  for (std::size_t i = 0; i < kBlock; ++i) {
    outer[i] = inner[i] ^ 0x5C;
    inner[i] ^= 0x36;
  }
  Hasher& hasher = Hasher::of_thread();
  hasher.begin();
  hasher.add(view(inner));
  hasher.add(data);
  const Digest within = hasher.end();
  hasher.begin();
  hasher.add(view(outer));
  hasher.add(view(within));
  return hasher.end();
}

std::string sha1_hex(BytesView data) {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned size = 0;
  if (EVP_Digest(data.data(), data.size(), digest, &size, EVP_sha1(), nullptr) != 1) no_digest();
  return hex(view({digest, size}));
}

Short shortened(const Digest& digest) noexcept {
  Short result;
  std::copy_n(digest.begin(), result.size(), result.begin());
  return result;
}

std::string hex(BytesView bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  text.reserve(bytes.size() * 2);
  for (char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

}  // namespace semel::digest
