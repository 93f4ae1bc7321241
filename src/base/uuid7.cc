#include "base/uuid7.h"

#include <fmt/format.h>

namespace semel {

namespace {

constexpr unsigned kCounterBits = 42;
constexpr unsigned kCounterLowBits = 30;  // of it, in rand_b
constexpr unsigned kRestBits = 32;
constexpr std::uint64_t kCounterEnd = (std::uint64_t{1} << kCounterBits) - 1;
constexpr std::uint64_t kCounterStart = kCounterEnd >> 1;
constexpr std::uint64_t kMilliseconds = (std::uint64_t{1} << 48) - 1;
constexpr std::uint64_t kVersion = 7;
constexpr std::uint64_t kVariant = 2;

std::string text_of(std::uint64_t high, std::uint64_t low) {
  return fmt::format("{:08x}-{:04x}-{:04x}-{:04x}-{:012x}", high >> 32, high >> 16 & 0xFFFF,
                     high & 0xFFFF, low >> 48, low & 0xFFFF'FFFF'FFFF);
}

}  // namespace

std::string Uuid7Sequence::next(std::uint64_t milliseconds, const Chance& chance) {
  milliseconds &= kMilliseconds;
  if (!begun_ || milliseconds > milliseconds_) {
    begun_ = true;
    milliseconds_ = milliseconds;
    counter_ = chance.counter & kCounterStart;
  } else if (counter_ == kCounterEnd) {
    milliseconds_ = (milliseconds_ + 1) & kMilliseconds;
    counter_ = chance.counter & kCounterStart;
  } else {
    ++counter_;
  }
  const std::uint64_t high = milliseconds_ << 16 | kVersion << 12 | counter_ >> kCounterLowBits;
  const std::uint64_t counter_low = counter_ & ((std::uint64_t{1} << kCounterLowBits) - 1);
  const std::uint64_t rest = chance.rest & ((std::uint64_t{1} << kRestBits) - 1);
  return text_of(high, kVariant << 62 | counter_low << kRestBits | rest);
}

}  // namespace semel
