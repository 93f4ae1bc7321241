// The entry points of libFuzzer. With --seeds FOLDER the program writes its seeds and its
// dictionary there, for a run that begins with them.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "tests/fuzz/seeds.h"

namespace {

void write(const std::string& path, std::string_view text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  if (file) return;
  fmt::print(stderr, "cannot write {}\n", path);
  std::exit(1);
}

std::string dictionary() {
  std::string text;
  for (const std::string& word : semel::fuzz::words()) text += fmt::format("\"{}\"\n", word);
  return text;
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int* count, char*** words);
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size);

extern "C" int LLVMFuzzerInitialize(int* count, char*** words) {
  if (*count != 3 || std::string_view((*words)[1]) != "--seeds") return 0;
  const std::string folder = (*words)[2];
  int number = 0;
  for (const std::string& seed : semel::fuzz::seeds()) {
    write(fmt::format("{}/seed-{}", folder, number++), seed);
  }
  write(folder + ".dictionary", dictionary());
  std::exit(0);
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  semel::fuzz::one_input({reinterpret_cast<const char*>(bytes), size});
  return 0;
}
