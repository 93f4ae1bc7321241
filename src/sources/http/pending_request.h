// PendingRequest: a request whose answer waits for its messages: one, or the events of a batch.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "http_server/http_message.h"
#include "sources/http/answers.h"

namespace semel::sources {

// One thread at a time, but for give().
class PendingRequest {
 public:
  // A batch is answered with a list, also where it has one event.
  PendingRequest(std::shared_ptr<http::HttpResponder> responder, std::size_t messages, bool batch)
      : responder_(std::move(responder)), answers_(messages), missing_(messages), batch_(batch) {}

  // The first answer of a message counts. True: it was the last one that was missing, and give() is
  // to be called.
  bool set(std::size_t message, MessageAnswer answer) noexcept;
  // REQUIRES: none is missing. Once. Without memory for the answer it is 503 alone.
  void give() noexcept;
  // Runs `give`, which gives the answers of many requests of the same server, this one's too.
  void give_together(const std::function<void()>& give) { responder_->answer_together(give); }

 private:
  http::HttpResponse response();

  const std::shared_ptr<http::HttpResponder> responder_;
  std::vector<std::optional<MessageAnswer>> answers_;
  std::size_t missing_;
  const bool batch_;
};

}  // namespace semel::sources
