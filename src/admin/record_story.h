// The story of a key, in words: one sentence for "why was nothing done?", and what is known in
// the order of its times. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <semel/admin/records.h>

#include "admin/api.h"
#include "base/iso_time.h"
#include "config/config.h"
#include "core/disclosure.h"
#include "telemetry/recent_deliveries.h"

namespace semel::admin {

struct StoryEvent {
  UtcTime at;
  std::string text;
  const char* kind;  // a class of the style sheet: "done", "duplicate", "retry", "dead", "plain"
};

struct RecordStory {
  std::string sentence;
  std::vector<StoryEvent> events;  // oldest first; those behind `now` are to come
};

// The story is made of these.
struct RecordFacts {
  const RecordView& record;
  const config::ConsumerConfig& consumer;
  // Deliveries of the record, newest first, as far as this process keeps them.
  const std::vector<telemetry::RecentDeliveries::Pointer>& deliveries;
  UtcTime now;
};

RecordStory story_of(const RecordFacts& facts, const core::Disclosure& shows);

// Why there may be no record of a key that somebody looks for.
std::vector<std::string> why_no_record(const config::ConsumerConfig& consumer);

// How a delivery ended, in words: "duplicate: nothing was done".
std::string ending_text(const telemetry::EndedDelivery& one);
// The class of the style sheet for it.
const char* ending_kind(Outcome::Kind kind) noexcept;

}  // namespace semel::admin
