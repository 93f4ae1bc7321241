// The page about one dead letter: why it died, its headers and its payload as far as they may be
// shown, and buttons that replay or discard only this letter.
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <semel/admin/audit.h>

#include "admin/api_number.h"
#include "admin/api_store.h"
#include "admin/audited.h"
#include "admin/html.h"
#include "admin/page_parts.h"
#include "admin/pages.h"
#include "admin/problem.h"
#include "admin/shown.h"
#include "base/printable.h"
#include "base/text_encoding.h"
#include "base/utf8.h"
#include "operate/cause.h"
#include "operate/letter_edit.h"
#include "operate/views.h"
#include "operate/words.h"

namespace semel::admin {

namespace {

constexpr std::size_t kWholeKey = 1'000;
constexpr std::size_t kWholeError = 2'000;
constexpr std::size_t kWholeHeader = 500;
// Longer payloads are available through the API only: a page of megabytes is of no use.
constexpr std::size_t kWholePayload = 16'000;
constexpr std::size_t kKeyOfQuestion = 80;
// How far back the audit log is searched for an edit.
constexpr std::size_t kEntriesAtOnce = 500;
constexpr std::size_t kMostEntries = 10 * kEntriesAtOnce;

std::string row_of(const char* name, const std::string& value) {
  return value.empty() ? std::string() : fmt::format("<dt>{}</dt><dd>{}</dd>\n", name, value);
}

std::string not_shown(BytesView bytes) {
  return fmt::format("<span class=\"unseen\">{} bytes, not shown</span>",
                     page::count_of(bytes.size()));
}

std::string about_letter(const DeadLetter& letter, const core::Disclosure& shows,
                         const std::string& edited) {
  const std::string key = letter.key.empty()
                              ? std::string("none")
                              : fmt::format("<a href=\"{}\">{}</a>",
                                            html(page::record_link(letter.consumer, letter.key)),
                                            page::shown(letter.key, kWholeKey));
  const bool texts = shows.errors == core::Disclosure::Errors::kText;
  std::string from = printable_text(letter.partition);
  if (!letter.position.empty()) from += " " + printable_text(letter.position);
  return "<dl>\n" +
         row_of("Consumer",
                fmt::format("<a href=\"{}\">{}</a>", html(page::consumer_link(letter.consumer)),
                            html(letter.consumer))) +
         row_of("Key", key) + row_of("Reason", html(printable_text(letter.reason))) +
         row_of("Cause", html(printable_text(operate::cause_of(letter.reason, letter.error)))) +
         row_of("Error", texts ? page::shown(letter.error, kWholeError)
                               : page::error_cell(letter.reason, letter.error, shows)) +
         row_of("Attempts", std::to_string(letter.attempts)) +
         row_of("Replayed",
                letter.replayed == 0 ? "never" : fmt::format("{} times", letter.replayed)) +
         edited + row_of("First seen", page::time_cell(letter.first_seen)) +
         row_of("Died", page::time_cell(letter.dead_at)) + row_of("From", html(from)) +
         row_of("Type", html(printable_text(letter.type))) +
         row_of("Content type", html(printable_text(letter.content_type))) + "</dl>\n";
}

std::string headers_of(const DeadLetter& letter, const core::Disclosure& shows) {
  if (letter.headers.empty()) return {};
  std::string made = "<section aria-labelledby=\"headers\"><h2 id=\"headers\">Headers</h2>\n<dl>\n";
  for (const Header& header : letter.headers) {
    const auto value = operate::shown_header(header, shows);
    made += fmt::format("<dt>{}</dt><dd>{}</dd>\n", html(printable_text(header.name)),
                        value ? page::shown(*value, kWholeHeader) : not_shown(header.value));
  }
  return made + "</dl></section>\n";
}

std::string payload_of(const ApiCall& call, const DeadLetter& letter,
                       const core::Disclosure& shows) {
  std::string made = "<section aria-labelledby=\"payload\"><h2 id=\"payload\">Payload</h2>\n";
  const auto text = operate::shown_contents(letter.payload, shows);
  if (!text) {
    made += fmt::format("<p>{}</p>\n", not_shown(letter.payload));
    if (!call.has(core::Role::kOperator)) {
      made += "<p class=\"empty\">Payloads are for the role <code>operator</code>.</p>\n";
    } else {
      made += shows.contents == core::Disclosure::Contents::kNone
                  ? "<p class=\"empty\">The config shows none: <code>admin.payloads</code>.</p>\n"
                  : "<p class=\"empty\">It is not JSON, so the masked places cannot be found in it "
                    "(<code>admin.mask</code>).</p>\n";
    }
    return made + "</section>\n";
  }
  made += text->empty()
              ? "<p class=\"empty\">It is empty.</p>\n"
              : fmt::format("<p><code>{}</code></p>\n", page::shown(*text, kWholePayload));
  if (shows.contents == core::Disclosure::Contents::kMasked) {
    made += "<p class=\"about\">The places of <code>admin.mask</code> are hidden.</p>\n";
  }
  return made + "</section>\n";
}

// When the letter was edited last, and by whom. Empty: never, or the log does not reach back so
// far.
std::string edited_by(const operate::StoreAccess& access, const DeadLetter& letter) {
  if (access.facets.audit == nullptr) return {};
  const std::string target = audit_target(letter) + ": ";
  std::optional<std::int64_t> before;
  for (std::size_t looked = 0; looked < kMostEntries; looked += kEntriesAtOnce) {
    const auto entries = access.facets.audit->list(before, kEntriesAtOnce);
    if (!entries) return {};
    for (const AuditEntry& entry : *entries) {
      if (!entry.target.starts_with(target) || entry.action != "dead_letters.edit" ||
          !entry.outcome || !entry.outcome->starts_with("edited")) {
        continue;
      }
      return fmt::format("{} by {}", page::time_cell(entry.at), html(printable_text(entry.who)));
    }
    if (entries->size() < kEntriesAtOnce) return {};
    before = entries->back().id;
  }
  return {};
}

// A producer may send a header of this name, so only text that looks like a time is shown.
bool is_time(std::string_view text) {
  constexpr std::size_t kLongest = 30;
  return !text.empty() && text.size() <= kLongest &&
         text.find_first_not_of("0123456789-:.TZ") == std::string_view::npos;
}

std::string edited_row(const ApiCall& call, const operate::StoreAccess& access,
                       const DeadLetter& letter) {
  const auto mark = find_header(letter.headers, operate::kEditedHeader);
  if (!mark) return {};
  const std::string_view at = mark->substr(0, mark->find(';'));
  if (!is_time(at)) return {};
  if (!call.has(core::Role::kAdmin)) return row_of("Edited", page::shown(at, kWholeHeader));
  const std::string by = edited_by(access, letter);
  // A command leaves no entry in the audit log; the header begins with the time.
  return row_of("Edited", by.empty() ? page::shown(at, kWholeHeader) + " by a command" : by);
}

constexpr const char* kEditHead =
    "<section aria-labelledby=\"edit\"><h2 id=\"edit\">Edit and replay</h2>\n";

// The payload as the form shows it; empty if it must be written anew.
std::string payload_field(const DeadLetter& letter, const core::Disclosure& shows) {
  const bool full = shows.contents == core::Disclosure::Contents::kFull;
  const bool fits = letter.payload.size() <= kWholePayload;
  const bool plain = is_utf8(letter.payload) && letter.payload.find('\r') == Bytes::npos &&
                     letter.payload.find('\0') == Bytes::npos;
  std::string text;
  if (full && fits) text = plain ? letter.payload : text::base64(letter.payload);
  const bool coded = full && fits && !plain;
  std::string made = fmt::format(
      "<p><label>payload <select id=\"edit-form\"><option value=\"payload\"{}>as text</option>"
      "<option value=\"payload_base64\"{}>in base64</option></select></label></p>\n"
      "<p><label for=\"edit-payload\">the whole payload</label>"
      "<textarea id=\"edit-payload\" rows=\"8\" spellcheck=\"false\">\n{}</textarea></p>\n",
      coded ? "" : " selected", coded ? " selected" : "", html(text));
  if (!full) {
    made +=
        "<p class=\"about\">Its places or all of it are hidden (<code>admin.mask</code>, "
        "<code>admin.payloads</code>): write the whole new payload, or leave this empty and the "
        "payload stays as it is.</p>\n";
  } else if (!fits) {
    made += "<p class=\"about\">It is too long for a page: leave this empty and it stays.</p>\n";
  }
  return made;
}

std::string edit_form(const ApiCall& call, const ApiSources& sources, const DeadLetter& letter,
                      const core::Disclosure& shows) {
  if (sources.config->find(letter.consumer) == nullptr) return {};
  if (!call.has(core::Role::kAdmin)) {
    return std::string(kEditHead) +
           "<p class=\"empty\">To edit it needs a token of <code>admin.auth.tokens</code> with the "
           "role <code>admin</code>.</p></section>\n";
  }
  const std::string path = fmt::format("api/v1/dead-letters/{}/edit", letter.id);
  const std::string revision = operate::revision_of(letter);
  return std::string(kEditHead) + "<div class=\"with-script edit\" hidden>\n" +
         payload_field(letter, shows) +
         "<p><label for=\"edit-set\">headers to set, each <code>name: value</code> on a line of "
         "its own</label><textarea id=\"edit-set\" rows=\"2\" "
         "spellcheck=\"false\"></textarea></p>\n"
         "<p><label for=\"edit-remove\">headers to remove, each name on a line of its own</label>"
         "<textarea id=\"edit-remove\" rows=\"2\" spellcheck=\"false\"></textarea></p>\n"
         "<p><label for=\"edit-reason\">reason, for the audit log: needed</label><input "
         "id=\"edit-reason\" maxlength=\"1000\" required></p>\n<p>" +
         page::edit_button(path, "Edit", "Give it this payload? Only an export keeps the old one.",
                           revision, false) +
         page::edit_button(path, "Edit and replay",
                           "Give it this payload and try it again? Only an export keeps the old "
                           "one.",
                           revision, true) +
         "</p></div>\n<p class=\"about\">Its key stays: a payload that has another one is refused, "
         "and so is one that would be a dead letter at once.</p>\n"
         "<noscript><p>Without JavaScript: <code>semel dlq edit</code>, or the API with a "
         "token.</p></noscript></section>\n";
}

std::string letter_actions(const ApiCall& call, const ApiSources& sources,
                           const DeadLetter& letter) {
  std::string made =
      "<section aria-labelledby=\"actions\"><h2 id=\"actions\">What a person can do</h2>\n";
  if (sources.config->find(letter.consumer) == nullptr) {
    return made +
           "<p class=\"empty\">Nothing: this config does not have its consumer.</p>"
           "</section>\n";
  }
  if (!call.has(core::Role::kOperator)) {
    return made +
           "<p class=\"empty\">To replay it needs a token of <code>admin.auth.tokens</code> with "
           "the role <code>operator</code>.</p></section>\n";
  }
  const std::string path = fmt::format("api/v1/dead-letters/{}/", letter.id);
  const std::string name = letter.key.empty() ? fmt::format("letter {}", letter.id)
                                              : operate::printable(letter.key, kKeyOfQuestion);
  std::string buttons = page::button(path + "replay", "Replay",
                                     fmt::format("Try {} of {} again? Where its key is completed "
                                                 "meanwhile it is skipped.",
                                                 name, letter.consumer));
  if (call.has(core::Role::kAdmin)) {
    buttons += page::button(path + "discard", "Discard",
                            fmt::format("Discard {}? A discard cannot be undone.", name));
  }
  return made + fmt::format(
                    "<p class=\"with-script\" hidden><label>reason, for the audit log <input "
                    "id=\"reason\" maxlength=\"1000\"></label></p>\n<p>{}</p>\n"
                    "<noscript><p>Without JavaScript: <code>semel dlq replay</code>, or the API "
                    "with a token.</p></noscript></section>\n",
                    buttons);
}

HttpResponse letter_page(const ApiCall& call, const ApiSources& sources) {
  const auto id = whole_number(call.value("id"));
  if (!id) return bad_request("id is no number of a dead letter", "letter?id=12");
  return with_dead_letters(sources, [&](const operate::StoreAccess& access) {
    const auto found = access.facets.dead_letters->show(*id);
    if (!found) return problem(found.error());
    if (!*found) {
      return not_found(fmt::format("there is no dead letter {}", *id),
                       "it was replayed and done, discarded, or removed when its time was over "
                       "(dead_letter.expire): the audit log says what people did");
    }
    const DeadLetter& letter = **found;
    const core::Disclosure shows = shown_to(call, sources);
    const std::string main =
        fmt::format(
            "<section aria-labelledby=\"letter\"><h2 id=\"letter\">Dead "
            "letter {}</h2>\n{}</section>\n",
            letter.id, about_letter(letter, shows, edited_row(call, access, letter))) +
        payload_of(call, letter, shows) + headers_of(letter, shows) +
        letter_actions(call, sources, letter) + edit_form(call, sources, letter, shows);
    return page::html_answer(200, page::frame("dead letter", main, page::Refreshes::kNever));
  });
}

constexpr QueryParameter kLetterParameters[] = {{"id", "string", {}}};
constexpr Page kOneLetterPages[] = {{"/letter", kLetterParameters, letter_page}};

}  // namespace

std::span<const Page> one_letter_pages() noexcept { return kOneLetterPages; }

}  // namespace semel::admin
