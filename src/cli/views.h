// Prints records, dead letters and gates as JSON and as text.
#pragma once

#include <optional>
#include <string_view>

#include <semel/admin/gates.h>
#include <semel/admin/records.h>
#include <semel/spi/step_store.h>

#include "base/json.h"
#include "cli/console.h"
#include "operate/views.h"

namespace semel::cli {

void add_record(json::Writer& writer, const Console& console, std::string_view consumer,
                const RecordView& record, const StepJournal& journal = {});
std::string record_text(const Console& console, std::string_view consumer, const RecordView& record,
                        const StepJournal& journal);

void add_dead_letter(json::Writer& writer, const Console& console, const DeadLetter& letter,
                     bool payload);
std::string dead_letter_text(const Console& console, const DeadLetter& letter);

using operate::gate_word;
void add_gate(json::Writer& writer, const Console& console, const ShutGate& gate);

using operate::hex_of;

}  // namespace semel::cli
