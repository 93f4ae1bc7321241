#include "clients/curl/handles.h"

#include <curl/curl.h>

#include <new>
#include <stdexcept>
#include <utility>

namespace semel::curl {

LibraryUse::LibraryUse() noexcept : ready_(curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK) {}

LibraryUse::~LibraryUse() {
  if (ready_) curl_global_cleanup();
}

void EndEasy::operator()(void* easy) const noexcept { curl_easy_cleanup(easy); }
void EndMulti::operator()(void* multi) const noexcept { curl_multi_cleanup(multi); }
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

void SentOnce::watch(void* easy) {
  for (const CURLcode code :
       {curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, &SentOnce::before_request),
        curl_easy_setopt(easy, CURLOPT_PREREQDATA, static_cast<void*>(this))}) {
    if (code != CURLE_OK) throw std::runtime_error(curl_easy_strerror(code));
  }
}

int SentOnce::before_request(void* request, char*, char*, int, int) {
  auto& self = *static_cast<SentOnce*>(request);
  self.repeated_ = std::exchange(self.sent_, true);
  return self.repeated_ ? CURL_PREREQFUNC_ABORT : CURL_PREREQFUNC_OK;
}

}  // namespace semel::curl
