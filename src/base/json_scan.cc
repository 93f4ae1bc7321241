#include "base/json_scan.h"

#include <bit>
#include <bitset>
#include <cstdint>
#include <cstring>

#include <fmt/format.h>

#include "base/ascii.h"
#include "base/utf8.h"

namespace semel::json {
namespace {

bool is_space(char c) noexcept { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

int hex_value(char c) noexcept {
  if (ascii::is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// Four hexadecimal digits at `p`; nullopt where there are none.
std::optional<std::uint32_t> code_unit(const char* p, const char* end) noexcept {
  if (end - p < 4) return std::nullopt;
  std::uint32_t unit = 0;
  for (int i = 0; i < 4; ++i) {
    const int digit = hex_value(p[i]);
    if (digit < 0) return std::nullopt;
    unit = unit << 4 | static_cast<std::uint32_t>(digit);
  }
  return unit;
}

bool is_high_surrogate(std::uint32_t unit) noexcept { return unit >= 0xD800 && unit <= 0xDBFF; }
bool is_low_surrogate(std::uint32_t unit) noexcept { return unit >= 0xDC00 && unit <= 0xDFFF; }

// For eight bytes: a bit in each one that is a quote, a backslash or a control character. Bits
// above the lowest one set may be wrong.
std::uint64_t special_bytes(std::uint64_t word) noexcept {
  constexpr std::uint64_t kOnes = 0x0101010101010101ULL;
  constexpr std::uint64_t kHighs = 0x8080808080808080ULL;
  const auto zero_bytes = [](std::uint64_t w) { return (w - kOnes) & ~w; };
  const std::uint64_t control = (word - kOnes * 0x20) & ~word;
  return (zero_bytes(word ^ kOnes * '"') | zero_bytes(word ^ kOnes * '\\') | control) & kHighs;
}

// Moves to the next quote, backslash or control character, or to the end.
const char* plain_run(const char* p, const char* end) noexcept {
  while (end - p >= 8) {
    std::uint64_t word;
    std::memcpy(&word, p, sizeof word);
    if (const std::uint64_t found = special_bytes(word); found != 0) {
      if constexpr (std::endian::native != std::endian::little) break;
      return p + std::countr_zero(found) / 8;
    }
    p += 8;
  }
  while (p != end && *p != '"' && *p != '\\' && static_cast<unsigned char>(*p) >= 0x20) ++p;
  return p;
}

class Validator {
 public:
  explicit Validator(std::string_view text) noexcept
      : begin_(text.data()), at_(begin_), end_(begin_ + text.size()) {}

  // One value and nothing after it. No recursion: the sender chooses the depth.
  bool run() {
    for (;;) {
      if (!value()) return false;
      for (;;) {
        skip_space();
        if (depth_ == 0) return at_ == end_ || fail("something stands behind the value");
        if (at_ == end_) return fail("it ends too early");
        const bool in_object = is_object_[depth_ - 1];
        if (*at_ == ',') {
          ++at_;
          skip_space();
          if (in_object && !member_name()) return false;
          break;
        }
        if (*at_ != (in_object ? '}' : ']')) {
          return fail(in_object ? "',' or '}' is missing" : "',' or ']' is missing");
        }
        ++at_;
        --depth_;
      }
    }
  }

  Error error() const {
    return {ErrorKind::kRejected, "", fmt::format("not JSON: {} at byte {}", why_, at_ - begin_),
            ""};
  }

 private:
  bool fail(std::string_view why) noexcept {
    why_ = why;
    return false;
  }
  void skip_space() noexcept {
    while (at_ != end_ && is_space(*at_)) ++at_;
  }

  // A scalar completely; a composite that is not empty only up to its first scalar.
  bool value() {
    for (;;) {
      skip_space();
      if (at_ == end_) return fail(at_ == begin_ ? "it is empty" : "it ends too early");
      switch (*at_) {
        case '{':
        case '[': {
          bool empty = false;
          if (!open(empty)) return false;
          if (empty) return true;
          continue;
        }
        case '"':
          return string();
        case 't':
          return word("true");
        case 'f':
          return word("false");
        case 'n':
          return word("null");
        default:
          return number();
      }
    }
  }

  bool open(bool& empty) {
    const bool object = *at_ == '{';
    if (depth_ == kMaxDepth) return fail("it is nested too deep");
    ++at_;
    skip_space();
    if (at_ != end_ && *at_ == (object ? '}' : ']')) {
      ++at_;
      empty = true;
      return true;
    }
    is_object_[depth_++] = object;
    return !object || member_name();
  }

  bool member_name() {
    if (at_ == end_ || *at_ != '"') return fail("a member name is missing");
    if (!string()) return false;
    skip_space();
    if (at_ == end_ || *at_ != ':') return fail("':' is missing");
    ++at_;
    return true;
  }

  bool word(std::string_view expected) {
    if (std::string_view(at_, static_cast<std::size_t>(end_ - at_)).substr(0, expected.size()) !=
        expected) {
      return fail("an unknown word stands");
    }
    at_ += expected.size();
    return true;
  }

  bool digits() noexcept {
    const char* const first = at_;
    while (at_ != end_ && ascii::is_digit(*at_)) ++at_;
    return at_ != first;
  }

  bool number() {
    if (*at_ == '-') ++at_;
    if (at_ == end_ || !ascii::is_digit(*at_)) return fail("no value stands");
    if (*at_ == '0') {
      ++at_;
      if (at_ != end_ && ascii::is_digit(*at_)) return fail("a number begins with 0");
    } else {
      digits();
    }
    if (at_ != end_ && *at_ == '.') {
      ++at_;
      if (!digits()) return fail("a digit is missing");
    }
    if (at_ != end_ && (*at_ == 'e' || *at_ == 'E')) {
      ++at_;
      if (at_ != end_ && (*at_ == '+' || *at_ == '-')) ++at_;
      if (!digits()) return fail("a digit is missing");
    }
    return true;
  }

  bool string() {
    ++at_;
    for (;;) {
      at_ = plain_run(at_, end_);
      if (at_ == end_) return fail("a string has no end");
      if (*at_ == '"') {
        ++at_;
        return true;
      }
      if (*at_ != '\\') return fail("a control character stands in a string");
      if (!escape()) return false;
    }
  }

  bool escape() {
    ++at_;
    if (at_ == end_) return fail("a string has no end");
    if (*at_ != 'u') {
      if (std::string_view("\"\\/bfnrt").find(*at_) == std::string_view::npos) {
        return fail("an unknown escape stands");
      }
      ++at_;
      return true;
    }
    const std::optional<std::uint32_t> unit = code_unit(at_ + 1, end_);
    if (!unit) return fail("a bad \\u escape stands");
    at_ += 5;
    if (is_low_surrogate(*unit)) return fail("half of a surrogate pair stands");
    if (!is_high_surrogate(*unit)) return true;
    if (end_ - at_ < 6 || at_[0] != '\\' || at_[1] != 'u') {
      return fail("half of a surrogate pair stands");
    }
    const std::optional<std::uint32_t> low = code_unit(at_ + 2, end_);
    if (!low || !is_low_surrogate(*low)) return fail("half of a surrogate pair stands");
    at_ += 6;
    return true;
  }

  const char* begin_;
  const char* at_;
  const char* end_;
  std::size_t depth_ = 0;
  std::bitset<kMaxDepth> is_object_;
  std::string_view why_;
};

// Recognises a wrapper that senders put around a payload by its first bytes.
std::string framing_of(std::string_view text) {
  constexpr std::string_view kGzip = "\x1F\x8B";
  constexpr std::string_view kZstd = "\x28\xB5\x2F\xFD";
  constexpr std::size_t kSchemaFrame = 5;  // a zero, and the id of a schema
  if (text.starts_with(kGzip)) return "it is compressed with gzip";
  if (text.starts_with(kZstd)) return "it is compressed with zstd";
  if (text.size() <= kSchemaFrame || text.front() != '\0') return {};
  std::uint32_t schema = 0;
  for (const char c : text.substr(1, kSchemaFrame - 1)) {
    schema = schema << 8 | static_cast<unsigned char>(c);
  }
  return fmt::format(
      "it begins with the five bytes of Confluent's framing (schema {}): the producer's serializer "
      "writes them, and one for plain JSON does not",
      schema);
}

void append_utf8(std::string& out, std::uint32_t code) {
  if (code < 0x80) {
    out += static_cast<char>(code);
  } else if (code < 0x800) {
    out += static_cast<char>(0xC0 | code >> 6);
    out += static_cast<char>(0x80 | (code & 0x3F));
  } else if (code < 0x10000) {
    out += static_cast<char>(0xE0 | code >> 12);
    out += static_cast<char>(0x80 | (code >> 6 & 0x3F));
    out += static_cast<char>(0x80 | (code & 0x3F));
  } else {
    out += static_cast<char>(0xF0 | code >> 18);
    out += static_cast<char>(0x80 | (code >> 12 & 0x3F));
    out += static_cast<char>(0x80 | (code >> 6 & 0x3F));
    out += static_cast<char>(0x80 | (code & 0x3F));
  }
}

}  // namespace

Result<void> validate(std::string_view text) {
  const bool utf8 = is_utf8(text);
  Validator validator(text);
  if (utf8 && validator.run()) return {};
  std::string framing = framing_of(text);
  if (!framing.empty()) {
    return failure({ErrorKind::kRejected, "", "not JSON: " + std::move(framing), ""});
  }
  if (utf8) return failure(validator.error());
  return failure({ErrorKind::kRejected, "", "not JSON: it is not valid UTF-8", ""});
}

Scan::Scan(std::string_view text) noexcept : at_(text.data()), end_(text.data() + text.size()) {
  skip_space();
}

void Scan::skip_space() noexcept {
  while (at_ != end_ && is_space(*at_)) ++at_;
}

RawString Scan::raw_string() noexcept {
  const char* const first = ++at_;
  bool escaped = false;
  for (;;) {
    at_ = plain_run(at_, end_);
    if (*at_ == '"') break;
    escaped = true;
    at_ += 2;
  }
  const char* const last = at_++;
  return {{first, static_cast<std::size_t>(last - first)}, escaped};
}

std::string_view Scan::skip_value() noexcept {
  const char* const first = at_;
  if (*at_ == '"') {
    raw_string();
  } else if (*at_ == '{' || *at_ == '[') {
    skip_composite();
  } else {
    while (at_ != end_ && *at_ != ',' && *at_ != '}' && *at_ != ']' && !is_space(*at_)) ++at_;
  }
  return {first, static_cast<std::size_t>(at_ - first)};
}

void Scan::skip_composite() noexcept {
  std::size_t depth = 0;
  do {
    switch (*at_) {
      case '"':
        raw_string();
        continue;
      case '{':
      case '[':
        ++depth;
        break;
      case '}':
      case ']':
        --depth;
        break;
      default:
        break;
    }
    ++at_;
  } while (depth != 0);
}

std::string unescape(std::string_view raw) {
  std::string out;
  out.reserve(raw.size());
  const char* const end = raw.data() + raw.size();
  for (const char* p = raw.data(); p != end;) {
    if (*p != '\\') {
      out += *p++;
      continue;
    }
    const char kind = p[1];
    p += 2;
    constexpr std::string_view kNames = "bfnrt", kMeanings = "\b\f\n\r\t";
    if (const std::size_t known = kNames.find(kind); known != std::string_view::npos) {
      out += kMeanings[known];
    } else if (kind != 'u') {
      out += kind;
    } else {
      std::uint32_t code = *code_unit(p, end);
      p += 4;
      if (is_high_surrogate(code)) {
        code = 0x10000 + ((code - 0xD800) << 10) + (*code_unit(p + 2, end) - 0xDC00);
        p += 6;
      }
      append_utf8(out, code);
    }
  }
  return out;
}

bool is_integer(std::string_view number) noexcept {
  return number.find_first_of(".eE") == std::string_view::npos;
}

Result<std::vector<std::string_view>> array_elements(std::string_view text, std::size_t most) {
  if (Result<void> valid = validate(text); !valid) return failure(std::move(valid.error()));
  Scan scan(text);
  if (scan.peek() != '[') return failure({ErrorKind::kRejected, "", "no JSON array", ""});
  scan.step();
  scan.skip_space();
  std::vector<std::string_view> elements;
  while (scan.peek() != ']') {
    if (elements.size() == most) {
      return failure(
          {ErrorKind::kLimit, "", fmt::format("an array of more than {} elements", most), ""});
    }
    elements.push_back(scan.skip_value());
    scan.skip_space();
    if (scan.peek() == ',') scan.step();
    scan.skip_space();
  }
  return elements;
}

}  // namespace semel::json
