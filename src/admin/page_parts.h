// Building blocks of the dashboard's pages.
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

// Whether a page refreshes itself while it is open.
enum class Refreshes { kNever, kItself, kOften };

// The whole page around the content of <main>.
std::string frame(std::string_view title, const std::string& main, Refreshes refreshes);
// Links to the pages; the one named `current` is marked.
std::string navigation(std::string_view current);
// Lets the reader choose how often a page refreshes; shown by a script.
std::string refresh_choice(Refreshes refreshes = Refreshes::kItself);

HttpResponse html_answer(int status, std::string body);
// An error of the API, for people.
HttpResponse readable(HttpResponse problem);

// A cell of a table; its label is shown next to it where the table is displayed as cards.
std::string labelled(const char* label, const std::string& value, const char* kind = "word");
// "2026-03-01 12:00:00", UTC: for people.
std::string time_text(UtcTime time);
// The same; the full time appears when a pointer rests on it.
std::string time_cell(UtcTime time);
std::string count_of(std::size_t count);
// "12", "1.5", "under 0.1".
std::string rate_text(double rate);
// Bytes as one line, of at most this many characters.
std::string shown(BytesView text, std::size_t longest);
// A reason and the text of an error, as a second line of a cell; empty where there are none.
std::string reason_line(std::string_view reason, std::string_view error,
                        const core::Disclosure& shows);
// The text of an error as far as it may be shown; else its cause, or a note that it is hidden.
std::string error_cell(std::string_view reason, std::string_view error,
                       const core::Disclosure& shows);
// Escaped for a query.
std::string escaped(std::string_view text);
// A link to the record's page.
std::string record_link(std::string_view consumer, BytesView key);
// A link to the consumer's page.
std::string consumer_link(std::string_view name);

// A button that sends a write; act.js makes it visible and handles it. `as`: see the API's unlock.
std::string button(const std::string& path, const char* word, const std::string& question,
                   std::string_view as = {});
// A button that begins a job on the letters that existed when the page was made: those with ids up
// to `up_to`.
std::string job_button(const std::string& path, const char* word, const std::string& question,
                       std::int64_t up_to);

// One that sends what stands in the form of a letter that was drawn at `revision`.
std::string edit_button(const std::string& path, const char* word, const std::string& question,
                        std::string_view revision, bool replay);

// The scripts of the buttons and of the keyboard, at act.js and keys.js.
std::string_view act_script() noexcept;
std::string_view keys_script() noexcept;

}  // namespace semel::admin::page
