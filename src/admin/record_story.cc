#include "admin/record_story.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include <fmt/format.h>
#include <semel/reason.h>

#include "admin/page_parts.h"
#include "base/number_text.h"
#include "base/printable.h"
#include "core/guarantee.h"
#include "operate/views.h"

namespace semel::admin {

namespace {

using page::time_text;
using telemetry::EndedDelivery;
using Deliveries = std::vector<telemetry::RecentDeliveries::Pointer>;

// The reason of the failure, as " (handler.http.503)", if it may be shown.
std::string because(const RecordView& record, const core::Disclosure& shows) {
  const std::string error = operate::shown_error(record.reason, record.error, shows);
  if (!error.empty()) return fmt::format(" ({})", printable_text(error));
  return record.reason.empty() ? std::string()
                               : fmt::format(" ({})", printable_text(record.reason));
}

std::string attempts_text(int attempts) {
  return attempts == 1 ? "1 attempt" : fmt::format("{} attempts", attempts);
}

std::string story_of_completed(const RecordView& record, const EndedDelivery* last) {
  const auto at = record.completed_at ? record.completed_at
                  : last != nullptr   ? last->completed_at
                                      : std::nullopt;
  const std::string recorded = at ? " was recorded at " + time_text(*at) : " is recorded";
  if (last != nullptr && last->outcome == Outcome::Kind::kDuplicate) {
    return fmt::format("Delivered again at {}; its effect{}, so nothing was done.",
                       time_text(last->at), recorded);
  }
  return fmt::format(
      "Its effect{}. A delivery of this key that comes now is a duplicate, and nothing is done.",
      recorded);
}

std::string story_of_consuming(const RecordFacts& facts) {
  const RecordView& record = facts.record;
  if (record.lease_until && *record.lease_until < facts.now) {
    return fmt::format(
        "The lease of its holder ended at {} without an end of its work: whoever receives the key "
        "next takes it over.",
        time_text(*record.lease_until));
  }
  const std::string until =
      record.lease_until ? " until " + time_text(*record.lease_until) : std::string();
  return fmt::format(
      "A worker holds it{}, and renews that while its handler works. A delivery of this key that "
      "comes now is busy: nothing is done, and its source brings it again.",
      until);
}

std::string story_of_retrying(const RecordFacts& facts, const core::Disclosure& shows) {
  const RecordView& record = facts.record;
  const std::string failed = because(record, shows);
  if (record.attempt == 0) {
    return fmt::format("It waits for its turn{}: no attempt is counted yet.{}", failed,
                       record.next_at ? " It is due at " + time_text(*record.next_at) + "." : "");
  }
  if (!record.next_at || *record.next_at <= facts.now) {
    return fmt::format("It failed in {}{} and is due to be tried again.",
                       attempts_text(record.attempt), failed);
  }
  return fmt::format(
      "It failed in {}{} and is tried again at {}. A delivery of this key that comes before does "
      "nothing.",
      attempts_text(record.attempt), failed, time_text(*record.next_at));
}

bool is_in_doubt(const RecordView& record) {
  return record.outcome_unknown || record.reason == reason::kLeaseParked ||
         record.reason == reason::kOutcomeUnknown;
}

std::string story_of_parked(const RecordView& record, const core::Disclosure& shows) {
  if (is_in_doubt(record)) {
    return fmt::format(
        "It waits for a person: an attempt ended without a known outcome{}, so its effect may have "
        "happened. Nothing tries it again before somebody says what became of it.",
        because(record, shows));
  }
  return fmt::format("It waits for a person{}: nothing tries it again before it is unlocked.",
                     because(record, shows));
}

std::string story_of_dead(const RecordView& record, const EndedDelivery* last,
                          const core::Disclosure& shows) {
  const std::string given_up =
      fmt::format("given up after {}{}", attempts_text(record.attempt), because(record, shows));
  if (last != nullptr && last->outcome == Outcome::Kind::kDead && last->closed_before) {
    return fmt::format("Delivered again at {}; it had been {}, so nothing was done.",
                       time_text(last->at), given_up);
  }
  return fmt::format(
      "It was {}. A delivery of this key that comes now is settled, and nothing is done, until it "
      "is "
      "unlocked or its dead letter replayed.",
      given_up);
}

// The newest delivery, unless the record is younger: then that delivery is not about this record.
const EndedDelivery* last_of(const RecordFacts& facts) {
  if (facts.deliveries.empty()) return nullptr;
  const EndedDelivery* const last = facts.deliveries.front().get();
  const RecordView& record = facts.record;
  const bool is_older = (record.completed_at && last->at < *record.completed_at) ||
                        (record.first_seen && last->at < *record.first_seen);
  return is_older ? nullptr : last;
}

std::string sentence_of(const RecordFacts& facts, const core::Disclosure& shows) {
  const EndedDelivery* const last = last_of(facts);
  if (last != nullptr && last->outcome == Outcome::Kind::kConflict) {
    return fmt::format(
        "Delivered at {} with another payload under this key: it was not handled, because the key "
        "belongs to the first payload, whose record is {}.",
        time_text(last->at), to_string(facts.record.state));
  }
  switch (facts.record.state) {
    case RecordState::kCompleted:
      return story_of_completed(facts.record, last);
    case RecordState::kConsuming:
      return story_of_consuming(facts);
    case RecordState::kRetrying:
      return story_of_retrying(facts, shows);
    case RecordState::kParked:
      return story_of_parked(facts.record, shows);
    case RecordState::kDead:
      return story_of_dead(facts.record, last, shows);
  }
  return {};
}

void add_deliveries(std::vector<StoryEvent>& events, const Deliveries& deliveries) {
  for (const auto& one : deliveries) {
    std::string text = "delivered, " + ending_text(*one);
    if (!one->partition.empty() || !one->position.empty()) {
      text += fmt::format(" ({}{}{})", printable_text(one->partition),
                          one->partition.empty() || one->position.empty() ? "" : " ",
                          printable_text(one->position));
    }
    events.push_back({one->at, std::move(text), ending_kind(one->outcome)});
  }
}

std::vector<StoryEvent> events_of(const RecordFacts& facts) {
  const RecordView& record = facts.record;
  std::vector<StoryEvent> events;
  if (record.first_seen) events.push_back({*record.first_seen, "first seen", "plain"});
  if (record.completed_at) {
    events.push_back({*record.completed_at, "its effect was recorded", "done"});
    if (const auto ttl = config::effective_ttl(facts.consumer)) {
      events.push_back({*record.completed_at + *ttl,
                        "its record may be removed: what is delivered later is not known to be a "
                        "duplicate",
                        "plain"});
    }
  }
  if (record.state == RecordState::kConsuming && record.lease_until) {
    const bool over = *record.lease_until < facts.now;
    events.push_back({*record.lease_until,
                      over ? "the lease of its holder ended"
                           : "the lease of its holder ends, unless it is renewed",
                      over ? "dead" : "plain"});
  }
  if (record.state == RecordState::kRetrying && record.next_at) {
    events.push_back({*record.next_at, "it is tried again", "retry"});
  }
  add_deliveries(events, facts.deliveries);
  std::ranges::stable_sort(events, {}, &StoryEvent::at);
  return events;
}

}  // namespace

RecordStory story_of(const RecordFacts& facts, const core::Disclosure& shows) {
  return {sentence_of(facts, shows), events_of(facts)};
}

std::vector<std::string> why_no_record(const config::ConsumerConfig& consumer) {
  if (!core::has_record(consumer.strategy)) {
    return {fmt::format("Strategy {} keeps no records.", core::to_string(consumer.strategy))};
  }
  std::vector<std::string> made = {
      "No delivery of it was taken yet: it waits at its source, or was never sent."};
  if (const auto ttl = config::effective_ttl(consumer)) {
    made.push_back(
        fmt::format("It was done more than {} ago: finished records are removed then (dedup.ttl).",
                    rough_duration(*ttl)));
  }
  made.emplace_back("An operator made Semel forget it: the audit log says who.");
  made.emplace_back(
      "Its key is spelled differently: keys are compared byte by byte with what the producer "
      "sent.");
  return made;
}

std::string ending_text(const EndedDelivery& one) {
  switch (one.outcome) {
    case Outcome::Kind::kDone:
      return one.attempt > 1 ? fmt::format("done in attempt {}", one.attempt) : "done";
    case Outcome::Kind::kDuplicate:
      return one.completed_at ? fmt::format("duplicate: its effect was recorded {} before",
                                            rough_duration(std::max(one.at - *one.completed_at,
                                                                    std::chrono::milliseconds(0))))
                              : "duplicate: nothing was done";
    case Outcome::Kind::kBusy:
      return "busy: another worker held it, or its retry was not due";
    case Outcome::Kind::kConflict:
      return "conflict: another payload under this key, not handled";
    case Outcome::Kind::kRetry:
      return fmt::format("failed in attempt {}: to be tried again in {}", one.attempt,
                         rough_duration(one.again_in));
    case Outcome::Kind::kDead:
      return one.closed_before ? "closed: it had been given up before" : "given up";
    case Outcome::Kind::kDiscarded:
      return "discarded: there was nothing to do";
    case Outcome::Kind::kParked:
      return one.closed_before ? "parked before: it waits for a person"
                               : "parked: it waits for a person";
  }
  return {};
}

const char* ending_kind(Outcome::Kind kind) noexcept {
  switch (kind) {
    case Outcome::Kind::kDone:
    case Outcome::Kind::kDiscarded:
      return "done";
    case Outcome::Kind::kDuplicate:
      return "duplicate";
    case Outcome::Kind::kBusy:
    case Outcome::Kind::kRetry:
      return "retry";
    case Outcome::Kind::kConflict:
    case Outcome::Kind::kDead:
      break;
    case Outcome::Kind::kParked:
      return "parked";
  }
  return "dead";
}

}  // namespace semel::admin
