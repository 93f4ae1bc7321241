#include "clients/curl/url_parts.h"

#include <arpa/inet.h>
#include <curl/curl.h>

#include <memory>
#include <new>

#include "base/ascii.h"

namespace semel::curl {

namespace {

constexpr unsigned char kLoopbackNet = 127;

struct FreeUrl {
  void operator()(CURLU* url) const noexcept { curl_url_cleanup(url); }
};
struct FreeText {
  void operator()(char* text) const noexcept { curl_free(text); }
};

std::optional<std::string> part_of(CURLU* url, CURLUPart part) {
  char* text = nullptr;
  const CURLUcode code = curl_url_get(url, part, &text, 0);
  const std::unique_ptr<char, FreeText> owned(text);
  if (code == CURLUE_OUT_OF_MEMORY) throw std::bad_alloc();
  if (code != CURLUE_OK || text == nullptr) return std::nullopt;
  return std::string(text);
}

}  // namespace

std::optional<UrlParts> parts_of(const std::string& url) {
  const std::unique_ptr<CURLU, FreeUrl> parsed(curl_url());
  if (!parsed) throw std::bad_alloc();
  const CURLUcode code = curl_url_set(parsed.get(), CURLUPART_URL, url.c_str(), 0);
  if (code == CURLUE_OUT_OF_MEMORY) throw std::bad_alloc();
  if (code != CURLUE_OK) return std::nullopt;
  auto scheme = part_of(parsed.get(), CURLUPART_SCHEME);
  auto host = part_of(parsed.get(), CURLUPART_HOST);
  if (!scheme || !host || host->empty()) return std::nullopt;
  if (host->front() == '[' && host->back() == ']') host = host->substr(1, host->size() - 2);
  const bool has_user = part_of(parsed.get(), CURLUPART_USER).has_value() ||
                        part_of(parsed.get(), CURLUPART_PASSWORD).has_value();
  return UrlParts{*std::move(scheme), *std::move(host), has_user};
}

bool is_loopback(const std::string& host) {
  if (ascii::alike(host, "localhost")) return true;
  in_addr four{};
  if (::inet_pton(AF_INET, host.c_str(), &four) == 1) {
    return (ntohl(four.s_addr) >> 24U) == kLoopbackNet;
  }
  in6_addr six{};
  return ::inet_pton(AF_INET6, host.c_str(), &six) == 1 && IN6_IS_ADDR_LOOPBACK(&six);
}

}  // namespace semel::curl
