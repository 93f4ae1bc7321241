// The grammar of JSON (RFC 8259), checked once; then steps through validated text.
//
// The document is kept as text and not as a tree: a number stays as it was written, whatever its
// size, and a message costs no memory beyond its bytes.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <semel/result.h>

namespace semel::json {

// The most nested objects and arrays; deeper ones are refused.
inline constexpr std::size_t kMaxDepth = 256;

// Refuses everything but one JSON value in UTF-8, with the reason and the byte. Recognises framing
// and compression, and names them.
Result<void> validate(std::string_view text);

// The text between a string's quotes.
struct RawString {
  std::string_view text;
  bool escaped = false;
};

// Steps through validated text. On other text its behaviour is undefined.
class Scan {
 public:
  // Starts at the first value of `text`.
  explicit Scan(std::string_view text) noexcept;

  char peek() const noexcept { return *at_; }
  void step() noexcept { ++at_; }
  const char* at() const noexcept { return at_; }
  void skip_space() noexcept;
  // Moves past the value that begins here; returns its text.
  std::string_view skip_value() noexcept;
  // Moves past the string that begins here.
  RawString raw_string() noexcept;

 private:
  void skip_composite() noexcept;

  const char* at_;
  const char* end_;
};

// The elements of an array, each as it is written in `text`, which they borrow. kRejected: `text`
// is not JSON, or no array. kLimit: it has more than `most`.
Result<std::vector<std::string_view>> array_elements(std::string_view text, std::size_t most);

// The value of an escaped string of validated text.
std::string unescape(std::string_view raw);

// A string in quotes. Each byte that is not UTF-8 is replaced by U+FFFD.
void append_quoted(std::string& out, std::string_view text);

// A quick test of a number's text: only digits and a sign.
bool is_integer(std::string_view number) noexcept;

}  // namespace semel::json
