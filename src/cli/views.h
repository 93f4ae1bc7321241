// Records, dead letters and statistics as JSON and as text: one shape each, wherever they appear.
#pragma once

#include <optional>
#include <string_view>

#include <semel/gates.h>
#include <semel/records.h>
#include <semel/steps.h>

#include "base/json.h"
#include "cli/console.h"

namespace semel::cli {

// `name`: the text; where the bytes are not UTF-8, `<name>_base64`.
void add_bytes(json::Writer& writer, std::string_view name, BytesView bytes);

void add_record(json::Writer& writer, const Console& console, std::string_view consumer,
                const RecordView& record, const StepJournal& journal = {});
std::string record_text(const Console& console, std::string_view consumer, const RecordView& record,
                        const StepJournal& journal);

void add_dead_letter(json::Writer& writer, const Console& console, const DeadLetter& letter,
                     bool payload);
std::string dead_letter_text(const Console& console, const DeadLetter& letter);

// "open", "paused", or "shut" for a time.
std::string gate_word(const std::optional<ShutGate>& gate);
void add_gate(json::Writer& writer, const Console& console, const ShutGate& gate);

std::string hex_of(BytesView bytes);

}  // namespace semel::cli
