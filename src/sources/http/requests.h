// RequestRules: which requests a source takes, and the arrivals they become.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <semel/spi/delivery.h>

#include "core/http_source_spec.h"
#include "http_server/http_message.h"
#include "sources/http/signature.h"

namespace semel::sources {

// Thread-safe.
class RequestRules {
 public:
  explicit RequestRules(const core::HttpSourceSpec& spec);

  // By the head alone, before the body is read: the answer of one that is not taken.
  std::optional<http::HttpResponse> refuses(const http::HttpRequest& request) const;
  // By the whole request: the answer where its signature is not good.
  std::optional<http::HttpResponse> refuses_signature(const Headers& headers, BytesView body,
                                                      std::int64_t now) const;

  // All that the message keeps of its request's headers: not what belongs to the connection, and no
  // credentials, which would be stored with it.
  static Headers headers_of(const http::HttpRequest& request);
  // Without tag and position.
  Arrival arrival_of(const http::HttpRequest& request, Headers headers) const;

 private:
  std::optional<std::string> ambiguous(const http::HttpRequest& request) const;

  const std::string path_;
  const std::size_t max_body_;
  std::optional<SignatureCheck> signature_;
  std::vector<std::string> single_;  // headers that may stand in a request once
};

}  // namespace semel::sources
