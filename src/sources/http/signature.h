// SignatureCheck: whether a request was signed by somebody who has the secret, and lately.
//
// Standard Webhooks (github.com/standard-webhooks), Stripe's and GitHub's schemes. All are HMAC
// with SHA-256; they differ in where the signature stands, how it is written and what is signed
// beside the body.
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
  // REQUIRES: each secret of Standard Webhooks is one (core::signing_key).
  explicit SignatureCheck(const core::HttpSignature& signature);

  // Why the request is not taken, for its sender; nothing where it is. `now`: seconds of the Unix
  // epoch.
  std::optional<std::string> flaw(const Headers& headers, BytesView body, std::int64_t now) const;

  // The headers in which a request says it: each must stand there once.
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
