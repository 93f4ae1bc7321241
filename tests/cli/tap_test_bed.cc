#include "tests/cli/tap_test_bed.h"

#include "tap/socket_directory.h"

namespace semel::test {

std::string line_of(const std::string& text, std::size_t number) {
  std::size_t begin = 0;
  for (; number > 0; --number) {
    const std::size_t end = text.find('\n', begin);
    if (end == std::string::npos) return "(there are not so many lines)";
    begin = end + 1;
  }
  return text.substr(begin, text.find('\n', begin) - begin);
}

Words TapTest::tap(const Words& more) const {
  Words words = {"tap", "payments", "-c", bed_.config()};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

Words TapTest::run(const Words& more) const {
  Words words = {"run", "-v", "-c", bed_.config()};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

void TapTest::send(const std::string& lines) const {
  const Ran sent = bed_.semel({"send", "payments", "-"}, {.input = lines});
  ASSERT_EQ(sent.code, 0) << sent.err;
}

bool TapTest::watches(const Program& tap, const Program& runner) {
  return tells(tap, "watching process " + std::to_string(runner.pid()) + "\n");
}

Words TapTest::sockets() const { return tap::SocketDirectory::beside(bed_.database())->names(); }

}  // namespace semel::test
