#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>

#include <fmt/format.h>

#include "base/json.h"
#include "base/json_scan.h"
#include "base/text_encoding.h"
#include "base/utf8.h"

namespace semel::json {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

constexpr char kLastAscii = '\x7f';

bool needs_no_escape(char c) { return c >= ' ' && c <= kLastAscii && c != '"' && c != '\\'; }

// `c` is a character of ASCII that needs one.
void append_escaped(std::string& out, char c) {
  constexpr std::string_view kEscaped = "\"\\\b\f\n\r\t", kNames = "\"\\bfnrt";
  out += '\\';
  if (const std::size_t known = kEscaped.find(c); known != std::string_view::npos) {
    out += kNames[known];
  } else {
    constexpr std::string_view kDigits = "0123456789abcdef";
    out += "u00";
    out += kDigits[static_cast<unsigned char>(c) >> 4U];
    out += kDigits[static_cast<unsigned char>(c) & 0xFU];
  }
}

}  // namespace

void append_quoted(std::string& out, std::string_view text) {
  out += '"';
  while (!text.empty()) {
    // Most text is plain: what needs no escape is copied at once.
    const auto end = std::ranges::find_if_not(text, needs_no_escape);
    if (end != text.begin()) {
      const auto plain = static_cast<std::size_t>(end - text.begin());
      out.append(text.substr(0, plain));
      text.remove_prefix(plain);
      continue;
    }
    const std::size_t length = utf8_length(text);
    if (length == 0) {
      out += kReplacement;
    } else if (length == 1) {
      append_escaped(out, text[0]);
    } else {
      out += text.substr(0, length);
    }
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  out += '"';
}

std::string compact(std::string_view valid) {
  std::string out;
  bool quoted = false;
  for (std::size_t i = 0; i < valid.size(); ++i) {
    const char c = valid[i];
    if (quoted && c == '\\') out += valid[i++];
    if (c == '"') quoted = !quoted;
    const bool space = c == ' ' || c == '\n' || c == '\r' || c == '\t';
    if (quoted || !space) out += valid[i];
  }
  return out;
}

void Writer::separate() {
  if (comma_) out_ += ',';
  comma_ = true;
}

Writer& Writer::raw(std::string_view token) {
  separate();
  out_ += token;
  return *this;
}

Writer& Writer::begin_object() {
  raw("{");
  comma_ = false;
  return *this;
}

Writer& Writer::end_object() {
  out_ += '}';
  comma_ = true;
  return *this;
}

Writer& Writer::begin_array() {
  raw("[");
  comma_ = false;
  return *this;
}

Writer& Writer::end_array() {
  out_ += ']';
  comma_ = true;
  return *this;
}

Writer& Writer::name(std::string_view member) {
  separate();
  append_quoted(out_, member);
  out_ += ':';
  comma_ = false;
  return *this;
}

Writer& Writer::value(std::string_view text) {
  separate();
  append_quoted(out_, text);
  return *this;
}

Writer& Writer::value(bool b) { return raw(b ? "true" : "false"); }

Writer& Writer::value(double d) {
  // JSON cannot express NaN and infinity.
  return std::isfinite(d) ? raw(fmt::format("{}", d)) : null();
}

Writer& Writer::embed(std::string_view valid) { return raw(compact(valid)); }

Writer& Writer::bytes(std::string_view n, BytesView bytes) {
  if (is_utf8(bytes)) return name(n).value(bytes);
  return name(std::string(n) + "_base64").value(text::base64(bytes));
}

Writer& Writer::null() { return raw("null"); }

}  // namespace semel::json
