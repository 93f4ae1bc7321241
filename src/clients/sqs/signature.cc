#include "clients/sqs/signature.h"

#include <fmt/format.h>

#include <map>
#include <string_view>

#include "base/ascii.h"
#include "base/digest.h"

namespace semel::sqs {

namespace {

constexpr const char* kAlgorithm = "AWS4-HMAC-SHA256";
constexpr std::size_t kDayDigits = 8;

std::string hex_of(const digest::Digest& made) { return digest::hex(digest::view(made)); }

// Removes blanks around a value, and replaces several blanks between words by one.
std::string trimmed(std::string_view value) {
  std::string made;
  for (const char c : value) {
    if (c == ' ' && (made.empty() || made.back() == ' ')) continue;
    made += c;
  }
  if (!made.empty() && made.back() == ' ') made.pop_back();
  return made;
}

std::map<std::string, std::string> canonical_headers(const Headers& headers) {
  std::map<std::string, std::string> made;
  for (const Header& header : headers) {
    std::string name = header.name;
    for (char& c : name) c = ascii::lower(c);
    made.emplace(std::move(name), trimmed(header.value));
  }
  return made;
}

digest::Digest signing_key(const std::string& secret, const SigningScope& scope,
                           std::string_view day) {
  digest::Digest key = digest::hmac_sha256("AWS4" + secret, day);
  key = digest::hmac_sha256(digest::view(key), scope.region);
  key = digest::hmac_sha256(digest::view(key), scope.service);
  return digest::hmac_sha256(digest::view(key), "aws4_request");
}

}  // namespace

std::string amz_date(UtcTime time) {
  std::string made;
  for (const char c : iso_time(time)) {
    if (c == '.') break;
    if (c != '-' && c != ':' && c != 'Z') made += c;
  }
  return made + 'Z';
}

std::string authorization(const core::SqsKeys& keys, const SigningScope& scope,
                          const std::string& date, const Signable& request) {
  std::string lines;
  std::string names;
  for (const auto& [name, value] : canonical_headers(request.headers)) {
    lines += fmt::format("{}:{}\n", name, value);
    names += (names.empty() ? "" : ";") + name;
  }
  const std::string canonical =
      fmt::format("{}\n{}\n{}\n{}\n{}\n{}", request.method, request.path, request.query, lines,
                  names, hex_of(digest::sha256(request.body)));
  const std::string day = date.substr(0, kDayDigits);
  const std::string place = fmt::format("{}/{}/{}/aws4_request", day, scope.region, scope.service);
  const std::string to_sign =
      fmt::format("{}\n{}\n{}\n{}", kAlgorithm, date, place, hex_of(digest::sha256(canonical)));
  const auto key = signing_key(keys.secret_access_key, scope, day);
  return fmt::format("{} Credential={}/{}, SignedHeaders={}, Signature={}", kAlgorithm,
                     keys.access_key_id, place, names,
                     hex_of(digest::hmac_sha256(digest::view(key), to_sign)));
}

}  // namespace semel::sqs
