// Records, dead letters and gates as JSON: the same in commands and in the API.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include <semel/admin/gates.h>
#include <semel/admin/records.h>
#include <semel/spi/step_store.h>

#include "base/json.h"
#include "core/disclosure.h"
#include "operate/letters.h"

namespace semel::operate {

// Begins a document: `{"schema":"semel.v1.<name>"`; the caller adds members and ends the object.
json::Writer document(std::string_view name);

// How times are written.
using TimeText = std::function<std::string(StoreTime)>;

// Hidden contents are replaced by their size, as `payload_bytes`. A document with masked contents
// has the member `masked`.
void add_record(json::Writer& writer, const TimeText& time, std::string_view consumer,
                const RecordView& record, const StepJournal& journal,
                const core::Disclosure& shows);

// `whole`: with its payload and headers.
void add_dead_letter(json::Writer& writer, const TimeText& time, const DeadLetter& letter,
                     bool whole, const core::Disclosure& shows);

void add_letter_group(json::Writer& writer, const TimeText& time, const LetterGroup& group,
                      const core::Disclosure& shows = {});

// The shown form of the bytes; nullopt: only their size is shown.
std::optional<std::string> shown_contents(BytesView bytes, const core::Disclosure& shows);
std::optional<std::string> shown_header(const Header& header, const core::Disclosure& shows);
// The text of an error of a record or a letter with that reason; if it is hidden, the cause at its
// beginning, or nothing.
std::string shown_error(std::string_view reason, std::string_view error,
                        const core::Disclosure& shows);

// "open", "paused", or "shut" for a time.
std::string gate_word(const std::optional<ShutGate>& gate);
void add_gate(json::Writer& writer, const TimeText& time, const ShutGate& gate);

// "done", "undone".
const char* state_word(const StepEntry& entry) noexcept;

std::string hex_of(BytesView bytes);

}  // namespace semel::operate
