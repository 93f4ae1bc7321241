// JSON for Semel: scalars at a JSON pointer of a message, and a writer of documents.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include <semel/bytes.h>
#include <semel/result.h>

namespace semel::json {

// A pointer (RFC 6901), checked, split and unescaped once.
class Pointer {
 public:
  // kRejected with what is wrong: no leading '/', a bad escape.
  static Result<Pointer> parse(std::string_view text);
  const std::string& text() const noexcept { return text_; }
  const std::vector<std::string>& parts() const noexcept { return parts_; }

 private:
  std::string text_;
  std::vector<std::string> parts_;
};

struct Absent {};            // no such member, or the path runs through a scalar
struct Composite {           // an object or an array
  std::string_view written;  // its text in the document, until the next parse
};
struct JsonNull {};
struct Integer {
  std::string_view written;           // its text in the document, until the next parse
  std::optional<std::int64_t> value;  // nullopt where it does not fit
};
struct Float {
  double value;              // the nearest one; infinite where it is too large for any
  std::string_view written;  // its text in the document, until the next parse
};
using Scalar = std::variant<Absent, Composite, JsonNull, bool, Integer, Float, std::string>;

// A parsed document. Borrows nothing: it copies the text into a buffer that the next one reuses.
// One thread at a time. Refused: invalid JSON, nesting too deep, invalid UTF-8, and, when a pointer
// meets it, a member name that occurs twice in one object (it is unclear which one is meant).
class Document {
 public:
  Document();
  ~Document();
  Document(const Document&) = delete;
  Document& operator=(const Document&) = delete;

  Result<void> parse(BytesView text);
  // The same for text that a Document has parsed before: nothing is checked again.
  void parse_known(BytesView text);
  // The last parse must have succeeded; else kRejected.
  Result<Scalar> at(const Pointer& pointer) const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

// Valid JSON, without the space between its tokens: one line.
std::string compact(std::string_view valid);

// Writes one JSON value, members in the order of the calls. Strings that are not UTF-8 get each bad
// byte replaced by U+FFFD.
class Writer {
 public:
  Writer& begin_object();
  Writer& end_object();
  Writer& begin_array();
  Writer& end_array();
  Writer& name(std::string_view member);
  Writer& value(std::string_view text);
  Writer& value(const char* text) { return value(std::string_view(text)); }
  Writer& value(bool b);
  Writer& value(double d);
  Writer& null();
  template <class T>
  requires(std::is_integral_v<T> && !std::is_same_v<T, bool>) Writer& value(T n) {
    return raw(std::to_string(n));
  }
  // Embeds JSON that `validate` accepted, unchanged except for the space between its tokens.
  Writer& embed(std::string_view valid);
  // A member `n`: the text; where the bytes are not UTF-8, `<n>_base64`.
  Writer& bytes(std::string_view n, BytesView bytes);
  template <class T>
  Writer& member(std::string_view n, T&& v) {
    return name(n).value(std::forward<T>(v));
  }
  const std::string& text() const noexcept { return out_; }

 private:
  Writer& raw(std::string_view token);
  void separate();
  std::string out_;
  bool comma_ = false;
};

}  // namespace semel::json
