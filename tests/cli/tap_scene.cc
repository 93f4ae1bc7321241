#include "tests/cli/tap_scene.h"

#include <chrono>
#include <thread>

#include "tap/place.h"

namespace semel::test {

namespace {

using std::chrono::steady_clock;

constexpr std::chrono::seconds kWithin{30};
constexpr std::chrono::milliseconds kLookAgain{5};

}  // namespace

bool comes_true(const std::function<bool()>& true_now) {
  for (const auto until = steady_clock::now() + kWithin; !true_now();) {
    if (steady_clock::now() > until) return false;
    std::this_thread::sleep_for(kLookAgain);
  }
  return true;
}

bool tells(const Program& program, std::string_view text) {
  return comes_true([&] { return program.err().find(text) != std::string::npos; });
}

std::size_t count_of(const std::string& text, std::string_view part) {
  std::size_t count = 0;
  for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos; ++at) ++count;
  return count;
}

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
  Words words = {"tap", "payments", "-c", scene_.config()};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

Words TapTest::run(const Words& more) const {
  Words words = {"run", "-c", scene_.config()};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

void TapTest::send(const std::string& lines) const {
  const Ran sent = scene_.semel({"send", "payments", "-"}, {.input = lines});
  ASSERT_EQ(sent.code, 0) << sent.err;
}

bool TapTest::watches(const Program& tap, const Program& runner) {
  return tells(tap, "watching process " + std::to_string(runner.pid()) + "\n");
}

Words TapTest::sockets() const { return tap::Place::beside(scene_.database())->names(); }

}  // namespace semel::test
