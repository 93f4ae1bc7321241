#include "base/url_text.h"

#include <algorithm>
#include <charconv>

namespace semel::url_text {

std::optional<std::string> unescaped(std::string_view text) {
  std::string plain;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] != '%') {
      plain += text[at];
      continue;
    }
    unsigned value = 0;
    const std::string_view digits = text.substr(std::min(at + 1, text.size()), 2);
    const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
    if (digits.size() != 2 || read.ptr != digits.data() + 2) return std::nullopt;
    plain += static_cast<char>(value);
    at += 2;
  }
  return plain;
}

std::string_view cut_before(std::string_view& text, char mark) {
  const auto at = std::min(text.find(mark), text.size());
  const std::string_view first = text.substr(0, at);
  text.remove_prefix(std::min(at + 1, text.size()));
  return first;
}

std::optional<unsigned> number(std::string_view text, unsigned least, unsigned most) {
  unsigned value = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = read.ec == std::errc() && read.ptr == text.data() + text.size();
  if (!whole || value < least || value > most) return std::nullopt;
  return value;
}

Server server(std::string_view text) {
  if (!text.starts_with('[')) {
    const std::string_view host = cut_before(text, ':');
    return {host, text};
  }
  text.remove_prefix(1);
  const std::string_view host = cut_before(text, ']');
  if (text.starts_with(':')) text.remove_prefix(1);
  return {host, text};
}

std::optional<std::string> TlsWord::say(const std::string& word) {
  if (said_ && *said_ != word) return "has a tls of two kinds";
  said_ = word;
  return std::nullopt;
}

std::optional<std::string> TlsWord::flaw_beside_ca() const {
  if (!said_ || *said_ == "verify") return std::nullopt;
  return "has a tls-ca, by which the certificate is verified, and tls=" + *said_;
}

}  // namespace semel::url_text
