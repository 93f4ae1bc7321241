#include "tap/delivery_event.h"

namespace semel::tap {

std::optional<Outcome::Kind> outcome_of(std::string_view word) noexcept {
  for (const Outcome::Kind kind : kAllOutcomes) {
    if (word == to_string(kind)) return kind;
  }
  return std::nullopt;
}

EndingView view_of(std::string_view consumer, const Delivery& delivery, const Outcome& outcome,
                   std::chrono::nanoseconds took) noexcept {
  EndingView view;
  view.consumer = consumer;
  view.key = delivery.message.key().text;
  view.outcome = outcome.kind;
  view.closed_before = outcome.closed_before;
  view.attempt = outcome.attempt;
  view.reason = outcome.reason;
  view.error = outcome.error;
  view.again_in = outcome.delay;
  if (outcome.completed_at != std::chrono::system_clock::time_point{}) {
    view.completed_at =
        std::chrono::time_point_cast<std::chrono::milliseconds>(outcome.completed_at);
  }
  view.partition = delivery.arrival.partition;
  view.position = delivery.arrival.position;
  view.took = took;
  view.payload = delivery.message.payload();
  return view;
}

EndingView view_of(std::string_view consumer, const Arrival& arrival, std::string_view reason,
                   std::string_view error) noexcept {
  EndingView view;
  view.consumer = consumer;
  view.outcome = Outcome::Kind::kDead;
  view.reason = reason;
  view.error = error;
  view.partition = arrival.partition;
  view.position = arrival.position;
  view.payload = arrival.payload;
  return view;
}

}  // namespace semel::tap
