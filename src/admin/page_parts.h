// Parts of which the pages of the dashboard are made.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <semel/bytes.h>

#include "admin/http_message.h"
#include "base/iso_time.h"
#include "core/disclosure.h"

namespace semel::admin::page {

// Whether a page draws itself anew while somebody looks at it.
enum class Refreshes { kNever, kItself, kOften };

// The whole page around what stands in <main>.
std::string frame(std::string_view title, const std::string& main, Refreshes refreshes);
// Links to the pages; the one that is called `current` is marked.
std::string navigation(std::string_view current);
// Where a reader chooses how often a page draws itself anew; a script shows it.
std::string refresh_choice(Refreshes refreshes = Refreshes::kItself);

HttpResponse html_answer(int status, std::string body);
// An error of the API, for people.
HttpResponse readable(HttpResponse problem);

// A cell of a table; its label is shown beside it where the table is a list of cards.
std::string labelled(const char* label, const std::string& value, const char* kind = "word");
// "2026-03-01 12:00:00", UTC: as people read it.
std::string time_text(UtcTime time);
// The same; the whole of it where a pointer rests.
std::string time_cell(UtcTime time);
std::string count_of(std::size_t count);
// Bytes for one line, of so many characters at most.
std::string shown(BytesView text, std::size_t longest);
// A reason and the text of an error, as a second line of a cell; empty where there are none.
std::string reason_line(std::string_view reason, std::string_view error,
                        const core::Disclosure& shows);
// The text of an error as far as it may be shown; else its cause, or that it is not shown.
std::string error_cell(std::string_view reason, std::string_view error,
                       const core::Disclosure& shows);
// Fit for a query.
std::string escaped(std::string_view text);
// To the page about the record.
std::string record_link(std::string_view consumer, BytesView key);
// To the page about the consumer.
std::string consumer_link(std::string_view name);

// A button that sends a write; act.js gives it its effect, and shows it. `as`: see the API's
// unlock.
std::string button(const std::string& path, const char* word, const std::string& question,
                   std::string_view as = {});
// One that begins a job on the letters that were there when the page was drawn: none has a higher
// id than `up_to`.
std::string job_button(const std::string& path, const char* word, const std::string& question,
                       std::int64_t up_to);

// One that sends what stands in the form of a letter that was drawn at `revision`.
std::string edit_button(const std::string& path, const char* word, const std::string& question,
                        std::string_view revision, bool replay);

// The scripts of the buttons and of the keyboard, at act.js and keys.js.
std::string_view act_script() noexcept;
std::string_view keys_script() noexcept;

}  // namespace semel::admin::page
