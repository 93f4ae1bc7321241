// The grammar of JSON (RFC 8259), checked once; then steps through text that was found good.
//
// The document is kept as text and not as a tree: a number stands "as written" in it, whatever its
// size, and a message costs no memory beyond its bytes.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <semel/result.h>

namespace semel::json {

// Objects and arrays inside one another; deeper ones are refused.
inline constexpr std::size_t kMaxDepth = 256;

// Refuses what is not one JSON value in UTF-8, with what is wrong and at which byte. Framing and
// compression are named.
Result<void> validate(std::string_view text);

// What stands between a string's quotes.
struct RawString {
  std::string_view text;
  bool escaped = false;
};

// Steps over validated text. No step may be taken on any other.
class Scan {
 public:
  // At the first value of `text`.
  explicit Scan(std::string_view text) noexcept;

  char peek() const noexcept { return *at_; }
  void step() noexcept { ++at_; }
  const char* at() const noexcept { return at_; }
  void skip_space() noexcept;
  // Past the value that begins here; returns its text.
  std::string_view skip_value() noexcept;
  // Past the string that begins here.
  RawString raw_string() noexcept;

 private:
  void skip_composite() noexcept;

  const char* at_;
  const char* end_;
};

// The elements of an array, each as it is written in `text`, which they borrow. kRejected: `text`
// is not JSON, or no array. kLimit: it has more than `most`.
Result<std::vector<std::string_view>> array_elements(std::string_view text, std::size_t most);

// What an escaped string of validated text means.
std::string unescape(std::string_view raw);

// A string in quotes. Each byte that is not UTF-8 is replaced by U+FFFD.
void append_quoted(std::string& out, std::string_view text);

// A first look at a number's text: only digits and a sign.
bool is_integer(std::string_view number) noexcept;

}  // namespace semel::json
