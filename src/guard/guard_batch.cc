// Guard::run_batch: which of a batch's messages share a transaction, and what its twins answer.
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "core/key_encoding.h"
#include "guard/guard_impl.h"

namespace semel {

namespace {

// For a message equal to one that has just ended: the answer that a later call would get.
Result<Outcome> twins_answer(const Result<Outcome>& first) {
  if (!first) return first;
  Outcome outcome = *first;
  outcome.attempt = 0;
  if (strategies::shows_completed(outcome)) outcome.kind = Outcome::Kind::kDuplicate;
  outcome.closed_before =
      outcome.kind == Outcome::Kind::kDead || outcome.kind == Outcome::Kind::kParked;
  return outcome;
}

}  // namespace

std::vector<Result<Outcome>> Guard::Impl::run_distinct(std::span<const BatchMessage> messages,
                                                       const EachWork& work,
                                                       std::span<const std::size_t> which) {
  guard::Caught caught(options_.at_most_once);
  std::unordered_map<KeyId, std::size_t> places;
  places.reserve(which.size());
  std::vector<core::TrackedDelivery> batch;
  batch.reserve(which.size());
  for (const std::size_t i : which) {
    batch.emplace_back(message_of(messages[i].key, messages[i].fingerprint), Arrival{});
    places.emplace(batch.back().message.key().id, i);
  }
  const auto place_of = [&](const Message& message) { return places.at(message.key().id); };
  if (const auto* plain = std::get_if<EachPlain>(&work)) {
    const Handler each = PlainHandler([&](const Message& message, const Attempt& attempt) {
      return caught([&] { return (*plain)(place_of(message), attempt); });
    });
    return handle(batch, each).answers;
  }
  const Handler each = TransactionalHandler([&](const Message& message, Transaction& tx) {
    return caught([&] { return std::get<EachInTransaction>(work)(place_of(message), tx); });
  });
  return handle(batch, each).answers;
}

std::vector<Result<Outcome>> Guard::Impl::run_each(std::span<const BatchMessage> messages,
                                                   const EachWork& work) {
  std::vector<Result<Outcome>> answers(messages.size(), Outcome{});
  std::vector<std::size_t> open;
  open.reserve(messages.size());
  for (std::size_t i = 0; i < messages.size(); ++i) {
    if (auto refused = refuse_key(messages[i].key)) {
      answers[i] = *std::move(refused);
    } else {
      open.push_back(i);
    }
  }
  // Usually one pass; more for keys that occur with several fingerprints.
  while (!open.empty()) {
    std::unordered_map<BytesView, std::size_t> firsts;
    firsts.reserve(open.size());
    std::vector<std::size_t> now;
    now.reserve(open.size());
    std::vector<std::size_t> behind;
    for (const std::size_t i : open) {
      (firsts.emplace(messages[i].key, i).second ? now : behind).push_back(i);
    }
    auto some = run_distinct(messages, work, now);
    for (std::size_t k = 0; k < now.size(); ++k) answers[now[k]] = std::move(some[k]);
    open.clear();
    for (const std::size_t i : behind) {
      const std::size_t first = firsts.at(messages[i].key);
      if (messages[i].fingerprint == messages[first].fingerprint) {
        answers[i] = twins_answer(answers[first]);
      } else {
        open.push_back(i);
      }
    }
  }
  return answers;
}

}  // namespace semel
