#include "clients/curl/url_parts.h"

#include <curl/curl.h>

#include <memory>
#include <new>

#include "clients/curl/handles.h"

namespace semel::curl {

namespace {

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
  const Url parsed(curl_url());
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

}  // namespace semel::curl
