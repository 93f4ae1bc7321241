// Transfer: one call on its way, a request to be sent and its answer as it comes.
#pragma once

#include <memory>

#include <semel/message.h>
#include <semel/result.h>

#include "core/http_spec.h"
#include "handlers/http/judge.h"

namespace semel::handlers {

class Transfer {
 public:
  // `spec` and the bytes of `body` are borrowed for the transfer's life. `url`: what its template
  // makes. Throws std::exception where libcurl has no memory.
  Transfer(const core::HttpSpec& spec, const std::string& url, const Headers& headers,
           BytesView body);
  ~Transfer();
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;

  void* easy() noexcept;  // libcurl's handle
  void mark(void* owner) noexcept;
  static void* owner_of(void* easy) noexcept;  // what it was marked with

  // Once it is over, with libcurl's code for that.
  Answer ended(int curl_code);
  // It was given up before; `why` in words.
  Answer stopped(std::string why);

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

// kRejected where libcurl does not take the URL, in its words.
Result<void> parse_url(const std::string& url);

}  // namespace semel::handlers
