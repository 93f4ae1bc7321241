// A request as the bytes of a fuzzer: request line, headers and body, as HTTP has them, but a line
// ends at its line feed and nothing is refused.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "http_server/http_message.h"

namespace semel::fuzz {

class RequestText {
 public:
  explicit RequestText(std::string_view bytes);

  // The same request with `authorization` in place of its own header; nullopt: without one. It
  // borrows from this.
  http::HttpRequest request(const std::optional<std::string>& authorization) const;
  const std::string& path() const noexcept { return path_; }

 private:
  std::optional<std::string_view> header(std::string_view name) const;
  std::optional<std::vector<std::pair<std::string, std::string>>> query() const;

  std::string method_;
  std::string path_;
  std::string query_;
  std::vector<std::pair<std::string, std::string>> headers_;
  std::string body_;
};

}  // namespace semel::fuzz
