#include "tests/support/inputs.h"

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace semel::test {
namespace {

bool is_in(std::string_view path, std::string_view place) {
  return path.starts_with(place) && (path.size() == place.size() || path[place.size()] == '/');
}

// Whether the list of this program has it. A program without a list is no test whose passes are
// remembered by one.
bool is_listed(const std::string& path) {
  std::ifstream list(std::filesystem::read_symlink("/proc/self/exe").string() + ".inputs");
  if (!list) return true;
  for (std::string line; std::getline(list, line);) {
    if (!line.empty() && is_in(path, line)) return true;
  }
  return false;
}

}  // namespace

std::string input(std::string_view path) {
  std::string whole = std::string(SEMEL_ROOT) + "/" + std::string(path);
  if (!is_listed(whole)) {
    std::fprintf(stderr, "%s is no input of this program: semel_test_reads() names them\n",
                 whole.c_str());
    std::abort();
  }
  return whole;
}

}  // namespace semel::test
