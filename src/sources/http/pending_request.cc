#include "sources/http/pending_request.h"

#include <utility>

namespace semel::sources {

bool PendingRequest::set(std::size_t message, MessageAnswer answer) noexcept {
  std::optional<MessageAnswer>& place = answers_[message];
  if (place) return false;
  place = std::move(answer);
  return --missing_ == 0;
}

http::HttpResponse PendingRequest::response() {
  if (!batch_) return response_of(*std::move(answers_.front()));
  std::vector<MessageAnswer> events;
  events.reserve(answers_.size());
  for (auto& answer : answers_) events.push_back(*std::move(answer));
  return response_of_batch(events);
}

void PendingRequest::give() noexcept {
  try {
    responder_->answer(response());
  } catch (...) {
    responder_->answer({503, {}, {}, {}});
  }
}

}  // namespace semel::sources
