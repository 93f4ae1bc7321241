// Records, dead letters and gates as JSON: one shape each, in commands and in the API.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include <semel/gates.h>
#include <semel/records.h>
#include <semel/steps.h>

#include "base/json.h"
#include "operate/letters.h"

namespace semel::operate {

// A document begun: `{"schema":"semel.v1.<name>"`; the caller adds members and ends the object.
json::Writer document(std::string_view name);

// How times are written.
using TimeText = std::function<std::string(StoreTime)>;

// Whether a view shows the bytes that producers and handlers wrote: payloads, headers, results.
enum class Contents { kLeftOut, kShown };

void add_record(json::Writer& writer, const TimeText& time, std::string_view consumer,
                const RecordView& record, const StepJournal& journal, Contents contents);

// `whole`: with its payload and headers, or their sizes where contents are left out.
void add_dead_letter(json::Writer& writer, const TimeText& time, const DeadLetter& letter,
                     bool whole, Contents contents);

void add_letter_group(json::Writer& writer, const TimeText& time, const LetterGroup& group);

// "open", "paused", or "shut" for a time.
std::string gate_word(const std::optional<ShutGate>& gate);
void add_gate(json::Writer& writer, const TimeText& time, const ShutGate& gate);

// "done", "undone".
const char* state_word(const StepEntry& entry) noexcept;

std::string hex_of(BytesView bytes);

}  // namespace semel::operate
