// Transfer: one call in progress: its request, and its answer as it arrives.
#pragma once

#include <memory>
#include <string>

#include <semel/message.h>
#include <semel/result.h>

#include "core/http_spec.h"
#include "handlers/http/connection_pool.h"
#include "handlers/http/judge.h"

namespace semel::handlers {

class Transfer {
 public:
  // `spec` and the bytes of `body` are borrowed for the transfer's life. `url`: made by its
  // template. Throws std::exception where libcurl has no memory.
  Transfer(const core::HttpSpec& spec, const std::string& url, const Headers& headers,
           BytesView body);
  ~Transfer();
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;

  void* easy() noexcept;  // libcurl's handle
  void mark(void* owner) noexcept;
  static void* owner_of(void* easy) noexcept;  // set when the transfer was made
  // Call it before the transfer begins, on the pool's thread, as all that follows.
  void connect_through(std::shared_ptr<ConnectionPool> pool) noexcept;
  const std::shared_ptr<ConnectionPool>& pool() const noexcept;
  // As SentOnce.
  const std::string& connection() const noexcept;
  bool answered() const noexcept;

  // The answer, with libcurl's code for its end.
  Answer ended(int curl_code);
  // It was aborted before; `why` in words.
  Answer stopped(std::string why);

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

// kRejected where libcurl refuses the URL, in its words.
Result<void> parse_url(const std::string& url);

}  // namespace semel::handlers
