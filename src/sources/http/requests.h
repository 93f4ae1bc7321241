// RequestRules: which requests a source accepts, and the arrivals they become.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <semel/result.h>
#include <semel/spi/delivery.h>

#include "core/http_source_spec.h"
#include "http_server/http_message.h"
#include "sources/http/answers.h"
#include "sources/http/signature.h"

namespace semel::sources {

// Thread-safe.
class RequestRules {
 public:
  explicit RequestRules(const core::HttpSourceSpec& spec);

  // By the head only, before the body is read: the answer of a refused request.
  std::optional<http::HttpResponse> refuses(const http::HttpRequest& request) const;
  // By the whole request: the answer where its signature is wrong.
  std::optional<http::HttpResponse> refuses_signature(const Headers& headers, BytesView body,
                                                      std::int64_t now) const;

  // The request's headers that the message keeps: without those of the connection, and without
  // credentials, which would be stored with it.
  static Headers headers_of(const http::HttpRequest& request);
  // The messages of a request that is taken: one, or the events of a batch. The events of a batch
  // come as CloudEvents of their own, each with the request's headers. A body that is no batch,
  // though it is called one, is one message that nobody can read.
  struct Messages {
    std::vector<Arrival> arrivals{};  // without tag and position
    bool batch = false;
  };
  // The answer instead where a batch has too many events.
  tl::expected<Messages, MessageAnswer> messages_of(const http::HttpRequest& request,
                                                    Headers headers) const;

 private:
  bool is_path(std::string_view path) const noexcept;
  std::optional<std::string> ambiguous(const http::HttpRequest& request) const;
  tl::expected<Messages, MessageAnswer> events_of(Arrival whole) const;

  const std::string path_;
  const std::string path_prefix_;
  const std::size_t max_body_;
  const std::size_t max_batch_;
  const bool splits_batches_;
  std::optional<SignatureCheck> signature_;
  std::vector<std::string> single_;  // headers that a request may contain only once
};

}  // namespace semel::sources
