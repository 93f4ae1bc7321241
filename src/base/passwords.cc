#include "base/passwords.h"

#include <algorithm>
#include <functional>

namespace semel {
namespace {

constexpr std::string_view kScheme = "://";
constexpr std::string_view kWord = "password";
constexpr std::string_view kBlanks = " \t\r\n";

std::size_t skip_blanks(std::string_view text, std::size_t at) {
  return std::min(text.find_first_not_of(kBlanks, at), text.size());
}

// After `://`: up to the last @, because an @ in a password may not have been encoded.
void find_in_authority(std::string_view text, std::vector<PasswordSpan>& found) {
  for (auto at = text.find(kScheme); at != std::string_view::npos; at = text.find(kScheme, at)) {
    at += kScheme.size();
    const auto end = std::min(text.find_first_of(" \t\r\n\"'", at), text.size());
    const auto part = text.substr(at, end - at);
    const auto host = part.rfind('@');
    const auto colon = part.find(':');
    if (host == std::string_view::npos || colon >= host || colon + 1 == host) continue;
    found.push_back({at + colon + 1, host - colon - 1});
  }
}

std::size_t end_of_value(std::string_view text, std::size_t at) {
  if (at >= text.size() || text[at] != '\'') {
    return std::min(text.find_first_of("& \t\r\n\"", at), text.size());
  }
  for (++at; at < text.size() && text[at] != '\''; ++at) {
    if (text[at] == '\\') ++at;
  }
  return std::min(at + 1, text.size());
}

void find_in_parameters(std::string_view text, std::vector<PasswordSpan>& found) {
  for (auto at = text.find(kWord); at != std::string_view::npos; at = text.find(kWord, at)) {
    at = skip_blanks(text, at + kWord.size());
    if (at >= text.size() || text[at] != '=') continue;
    at = skip_blanks(text, at + 1);
    const auto end = end_of_value(text, at);
    if (end > at) found.push_back({at, end - at});
    at = end;
  }
}

std::string replaced(std::string_view text,
                     const std::function<std::string(std::string_view)>& instead) {
  std::string out;
  std::size_t at = 0;
  for (const PasswordSpan& span : passwords_in(text)) {
    out += text.substr(at, span.begin - at);
    out += instead(text.substr(span.begin, span.size));
    at = span.begin + span.size;
  }
  return out += text.substr(at);
}

}  // namespace

std::vector<PasswordSpan> passwords_in(std::string_view text) {
  std::vector<PasswordSpan> found;
  find_in_authority(text, found);
  find_in_parameters(text, found);
  std::sort(found.begin(), found.end(),
            [](const PasswordSpan& a, const PasswordSpan& b) { return a.begin < b.begin; });
  std::vector<PasswordSpan> apart;
  for (const PasswordSpan& span : found) {
    if (!apart.empty() && span.begin <= apart.back().begin + apart.back().size) {
      const auto end = std::max(apart.back().begin + apart.back().size, span.begin + span.size);
      apart.back().size = end - apart.back().begin;
    } else {
      apart.push_back(span);
    }
  }
  return apart;
}

std::string without_passwords(std::string_view text) {
  return replaced(text, [](std::string_view) { return "***"; });
}

std::string blotted_passwords(std::string_view text) {
  return replaced(text, [](std::string_view password) {
    const auto characters = std::count_if(password.begin(), password.end(), [](char c) {
      return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U;
    });
    return std::string(static_cast<std::size_t>(characters), '*');
  });
}

}  // namespace semel
