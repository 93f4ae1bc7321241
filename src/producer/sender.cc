#include "producer/sender.h"

#include <algorithm>
#include <thread>
#include <utility>
#include <variant>

#include "core/retry_decision.h"

namespace semel::producer {

using std::chrono::milliseconds;

namespace {

SendError never_tried() {
  SendError error;
  error.kind = ErrorKind::kUnavailable;
  error.code = "R331";
  return error;
}

}  // namespace

// A message that has no result yet.
struct Sender::Item {
  std::size_t index;  // of its result
  OutgoingMessage message;
  bool unknown = false;  // one of its tries may have arrived
  TryEnd last{};
};

Sender::Sender(Try attempt, KeyRules rules, ProducerOptions options, Environment& environment)
    : try_(std::move(attempt)),
      rules_(std::move(rules)),
      options_(options),
      environment_(environment) {}

std::vector<Sender::Item> Sender::address_all(std::span<const OutgoingMessage> messages,
                                              std::vector<SendResult>& results) const {
  std::vector<Item> items;
  items.reserve(messages.size());
  for (std::size_t i = 0; i < messages.size(); ++i) {
    auto made = addressed(messages[i], rules_);
    if (made) {
      items.push_back({i, *std::move(made)});
    } else {
      results[i] = tl::unexpected(std::move(made.error()));
    }
  }
  return items;
}

// Keeps in `open` what must be tried again; returns the longest pause that was asked for.
milliseconds Sender::take_ends(std::vector<Item*>& open, std::vector<TryEnd> ends, int number,
                               std::vector<SendResult>& results) const {
  RetryPolicy policy;
  policy.attempts = 0;
  policy.max_elapsed = milliseconds(0);
  policy.first = options_.first_pause;
  policy.longest = options_.longest_pause;
  std::vector<Item*> again;
  milliseconds pause(0);
  for (std::size_t i = 0; i < open.size(); ++i) {
    Item& item = *open[i];
    TryEnd& end = ends[i];
    item.unknown = item.unknown || end.unknown;
    if (end.kind == TryEnd::Kind::kSent) {
      results[item.index] = Sent{*item.message.key, std::move(end.answer)};
    } else if (end.kind != TryEnd::Kind::kAgain) {
      results[item.index] = tl::unexpected(send_error(*item.message.key, end, item.unknown));
    } else {
      Verdict::Retry wanted;
      wanted.after = end.after;
      wanted.asked = end.asked;
      const auto decided =
          core::decide_retry(policy, wanted, number, milliseconds(0), environment_.random->next());
      pause = std::max(pause, std::get<core::RetryAfter>(decided).delay);
      item.last = std::move(end);
      again.push_back(&item);
    }
  }
  open = std::move(again);
  return pause;
}

std::vector<SendResult> Sender::send(std::span<const OutgoingMessage> messages) const {
  // Uses the steady clock itself, as the waiting code does.
  const Deadline deadline = std::chrono::steady_clock::now() + options_.time_limit;
  std::vector<SendResult> results(messages.size(), tl::unexpected(never_tried()));
  std::vector<Item> items = address_all(messages, results);
  std::vector<Item*> open;
  for (Item& item : items) open.push_back(&item);
  for (int number = 1; !open.empty(); ++number) {
    std::vector<const OutgoingMessage*> tried;
    for (const Item* item : open) tried.push_back(&item->message);
    const milliseconds pause = take_ends(open, try_(tried, number, deadline), number, results);
    const auto next = std::chrono::steady_clock::now() + pause;
    if (next >= deadline) break;
    if (!open.empty()) std::this_thread::sleep_until(next);
  }
  for (const Item* item : open) {
    results[item->index] =
        tl::unexpected(send_error(*item->message.key, item->last, item->unknown));
  }
  return results;
}

}  // namespace semel::producer
