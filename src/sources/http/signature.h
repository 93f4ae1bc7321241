// SignatureCheck: whether a request was signed recently by a sender who has the secret.
//
// Standard Webhooks (github.com/standard-webhooks), Stripe's and GitHub's schemes. All use HMAC
// with SHA-256; they differ in the place and format of the signature, and in what is signed in
// addition to the body.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <semel/bytes.h>
#include <semel/message.h>

#include "core/http_source_spec.h"

namespace semel::sources {

// Thread-safe.
class SignatureCheck {
 public:
  // REQUIRES: each secret of Standard Webhooks is valid (core::signing_key).
  explicit SignatureCheck(const core::HttpSignature& signature);

  // Why the request is refused, for its sender; nullopt where it is accepted. `now`: seconds of the
  // Unix epoch.
  std::optional<std::string> flaw(const Headers& headers, BytesView body, std::int64_t now) const;

  // The headers of the signature: each must occur once.
  const std::vector<std::string>& headers() const noexcept { return headers_; }

 private:
  std::optional<std::string> standard_webhooks(const Headers& headers, BytesView body,
                                               std::int64_t now) const;
  std::optional<std::string> stripe(const Headers& headers, BytesView body, std::int64_t now) const;
  std::optional<std::string> github(const Headers& headers, BytesView body) const;
  std::optional<std::string> stale(BytesView time, std::int64_t now) const;
  bool signed_by_any(BytesView content, const std::vector<Bytes>& given) const;

  const core::HttpSignature::Scheme scheme_;
  const std::chrono::seconds tolerance_;
  std::vector<Bytes> keys_;
  std::vector<std::string> headers_;
};

}  // namespace semel::sources
