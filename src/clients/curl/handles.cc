#include "clients/curl/handles.h"

#include <curl/curl.h>

#include <new>

namespace semel::curl {

LibraryUse::LibraryUse() noexcept : ready_(curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK) {}

LibraryUse::~LibraryUse() {
  if (ready_) curl_global_cleanup();
}

void EndEasy::operator()(void* easy) const noexcept { curl_easy_cleanup(easy); }
void EndMulti::operator()(void* multi) const noexcept { curl_multi_cleanup(multi); }
void EndShare::operator()(void* share) const noexcept { curl_share_cleanup(share); }
void EndUrl::operator()(Curl_URL* url) const noexcept { curl_url_cleanup(url); }
void EndLines::operator()(curl_slist* lines) const noexcept { curl_slist_free_all(lines); }

void HeaderLines::add(const std::string& line) {
  curl_slist* const longer = curl_slist_append(lines_.get(), line.c_str());
  if (longer == nullptr) throw std::bad_alloc();
  (void)lines_.release();  // `longer` starts with these lines
  lines_.reset(longer);
}

void HeaderLines::add(std::string_view name, std::string_view value) {
  std::string line(name);
  if (value.empty()) {
    line += ';';
  } else {
    line.append(": ").append(value);
  }
  add(line);
}

}  // namespace semel::curl
