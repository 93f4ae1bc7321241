#include "stores/redis/instance.h"

#include <cstring>
#include <utility>

namespace semel::redis {
namespace {

Bytes eight_bytes(Random& random) {
  const std::uint64_t word = random.next();
  Bytes bytes(sizeof word, '\0');
  std::memcpy(bytes.data(), &word, sizeof word);
  return bytes;
}

}  // namespace

Instance::Instance(Random& random) : random_(random), name_(eight_bytes(random)) {}

Bytes Instance::name() const {
  const system::MutexLock lock(mutex_);
  return name_;
}

void Instance::rename() {
  const system::MutexLock lock(mutex_);
  former_.insert(std::exchange(name_, eight_bytes(random_)));
  ++renames_;
}

Bytes Instance::new_name_for(const Nonce& nonce) const {
  if (renames() == 0) return {};
  const Bytes drawn_by(reinterpret_cast<const char*>(nonce.bytes.data()), kSize);
  const system::MutexLock lock(mutex_);
  return former_.contains(drawn_by) ? name_ : Bytes();
}

Nonce Instance::compared(const Nonce& nonce) const {
  Nonce compared = nonce;
  if (!new_name_for(nonce).empty()) std::memset(compared.bytes.data(), 0, kSize);
  return compared;
}

Nonce Instance::draw_nonce() {
  const std::uint64_t word = random_.next();
  Nonce nonce;
  static_assert(sizeof nonce.bytes == kSize + sizeof word);
  const system::MutexLock lock(mutex_);
  std::memcpy(nonce.bytes.data(), name_.data(), kSize);
  std::memcpy(nonce.bytes.data() + kSize, &word, sizeof word);
  return nonce;
}

Bytes Instance::begins_takes() const {
  const system::MutexLock lock(mutex_);
  Bytes beginnings = name_.substr(0, kInTake);
  for (const Bytes& name : former_) beginnings += name.substr(0, kInTake);
  return beginnings;
}

Bytes Instance::name_take() {
  constexpr std::size_t kCount = kSize - kInTake;
  const system::MutexLock lock(mutex_);
  ++takes_;
  Bytes take = name_.substr(0, kInTake);
  for (std::size_t i = 0; i < kCount; ++i) take += static_cast<char>(takes_ >> 8 * i & 0xFFU);
  return take;
}

Bytes Instance::gone() const {
  const system::MutexLock lock(mutex_);
  return gone_;
}

void Instance::set_gone(Bytes names) {
  const system::MutexLock lock(mutex_);
  gone_ = std::move(names);
}

}  // namespace semel::redis
