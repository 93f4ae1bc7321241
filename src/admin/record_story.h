// The story of a key, in words: one sentence for "why was nothing done?", and the known events in
// order of time. Pure.
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
  std::vector<StoryEvent> events;  // oldest first; those after `now` are still to come
};

// The input of a story.
struct RecordFacts {
  const RecordView& record;
  const config::ConsumerConfig& consumer;
  // Deliveries of the record, newest first, as far as this process remembers them.
  const std::vector<telemetry::RecentDeliveries::Pointer>& deliveries;
  UtcTime now;
};

RecordStory story_of(const RecordFacts& facts, const core::Disclosure& shows);

// Possible reasons why a key has no record.
std::vector<std::string> why_no_record(const config::ConsumerConfig& consumer);

// How a delivery ended, in words: "duplicate: nothing was done".
std::string ending_text(const telemetry::EndedDelivery& one);
// Its class of the style sheet.
const char* ending_kind(Outcome::Kind kind) noexcept;

}  // namespace semel::admin
