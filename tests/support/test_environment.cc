#include "tests/support/test_environment.h"

#include <cstdlib>
#include <random>

namespace semel::test {

std::uint64_t SeededRandom::next() noexcept {
  constexpr std::uint64_t kStep = 0x9e3779b97f4a7c15U;
  std::uint64_t z = state_.fetch_add(kStep) + kStep;
  z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
  z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
  return z ^ (z >> 31U);
}

std::uint64_t SettableRandom::next() noexcept {
  return is_set_ ? number_.load() : system_environment().random->next();
}

void SettableRandom::set(std::optional<std::uint64_t> number) noexcept {
  number_ = number.value_or(0);
  is_set_ = number.has_value();
}

void HookedFailpoints::hit(std::string_view point) noexcept {
  std::function<void()> action;
  {
    const std::scoped_lock lock(mutex_);
    ++hits_[std::string(point)];
    if (const auto found = actions_.find(point); found != actions_.end()) action = found->second;
  }
  if (action) action();
}

void HookedFailpoints::on(std::string_view point, std::function<void()> action) {
  const std::scoped_lock lock(mutex_);
  actions_[std::string(point)] = std::move(action);
}

std::size_t HookedFailpoints::hits(std::string_view point) const {
  const std::scoped_lock lock(mutex_);
  const auto found = hits_.find(point);
  return found == hits_.end() ? 0 : found->second;
}

std::uint64_t test_seed() {
  if (const char* given = std::getenv("SEMEL_TEST_SEED")) {
    return std::strtoull(given, nullptr, 10);
  }
  std::random_device device;
  return (std::uint64_t{device()} << 32U) | device();
}

}  // namespace semel::test
