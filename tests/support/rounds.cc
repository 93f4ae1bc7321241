#include "tests/support/rounds.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>

namespace semel::test {

std::size_t soak_factor() {
  const char* soak = std::getenv("SEMEL_SOAK");
  return soak != nullptr && std::string_view(soak) == "1" ? 10 : 1;
}

bool is_night() {
  const char* night = std::getenv("SEMEL_NIGHTLY");
  return soak_factor() > 1 || (night != nullptr && *night != '\0');
}

std::size_t rounds(std::size_t of_a_night) {
  constexpr std::size_t kShare = 3;
  constexpr std::size_t kFewest = 2;
  return rounds(of_a_night, std::min(of_a_night, std::max(of_a_night / kShare, kFewest)));
}

std::size_t rounds(std::size_t of_a_night, std::size_t of_a_day) {
  return is_night() ? of_a_night * soak_factor() : of_a_day;
}

}  // namespace semel::test
