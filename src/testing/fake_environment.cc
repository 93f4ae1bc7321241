#include <semel/testing/fake_environment.h>

namespace semel::testkit {

// SplitMix64.
std::uint64_t FakeRandom::next() noexcept {
  constexpr std::uint64_t kStep = 0x9e3779b97f4a7c15U;
  std::uint64_t z = state_.fetch_add(kStep) + kStep;
  z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
  z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
  return z ^ (z >> 31U);
}

}  // namespace semel::testkit
