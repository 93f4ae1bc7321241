// The parts of a URL as libcurl reads them, so that what is checked is what is called.
#pragma once

#include <optional>
#include <string>

namespace semel::curl {

struct UrlParts {
  std::string scheme;     // in lower case
  std::string host;       // an IPv6 address without its brackets
  bool has_user = false;  // a user or password before the host
};

// nullopt if libcurl cannot call the URL. Throws std::bad_alloc.
std::optional<UrlParts> parts_of(const std::string& url);

}  // namespace semel::curl
