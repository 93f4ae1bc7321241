// The page about records that wait for a person: parked records, and records whose lease ended
// before the work did.
#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <semel/reason.h>

#include "admin/api_store.h"
#include "admin/html.h"
#include "admin/page_parts.h"
#include "admin/pages.h"
#include "admin/problem.h"
#include "admin/shown.h"
#include "base/printable.h"
#include "operate/records.h"
#include "operate/words.h"

namespace semel::admin {

namespace {

constexpr std::size_t kRowsOfState = 100;
constexpr std::size_t kStuckKey = 60;
constexpr std::size_t kStuckName = 80;

struct StuckRows {
  std::string rows;
  std::size_t count = 0;
  bool more = false;
};

// Uses the clock that the lease was given by.
bool is_lease_over(const RecordView& record) {
  return record.lease_until && *record.lease_until < operate::time_of(record);
}

std::string stuck_row(const std::string& consumer, const RecordView& record,
                      const core::Disclosure& shows) {
  const bool parked = record.state == RecordState::kParked;
  const bool in_doubt = record.outcome_unknown || record.reason == reason::kLeaseParked ||
                        record.reason == reason::kOutcomeUnknown;
  const std::string name =
      record.key.empty()
          ? std::string("no key kept")
          : fmt::format("<a href=\"{}\">{}</a>", html(page::record_link(consumer, record.key)),
                        page::shown(record.key, kStuckKey));
  const char* const why = !parked    ? "its holder is gone: taken over when the key comes again"
                          : in_doubt ? "its effect may have happened: somebody must say"
                                     : "waits to be unlocked";
  const auto since = is_lease_over(record) ? record.lease_until : record.first_seen;
  return fmt::format("<tr><th scope=\"row\">{}<span class=\"about\">{}</span></th>", name,
                     html(consumer)) +
         page::labelled("State", parked ? "parked" : "lease over", "short") +
         page::labelled("Why", fmt::format("<span>{}{}</span>", why,
                                           page::reason_line(record.reason, record.error, shows))) +
         page::labelled("Attempts", std::to_string(record.attempt), "number") +
         page::labelled("Since", since ? page::time_cell(*since) : "–") + "</tr>\n";
}

Result<void> add_stuck(StuckRows& made, const operate::StoreAccess& access,
                       const std::string& consumer, const core::Disclosure& shows) {
  const auto number = access.facets.records->consumer(consumer);
  if (!number) return failure(number.error());
  if (!*number) return {};
  for (const RecordState state : {RecordState::kParked, RecordState::kConsuming}) {
    const auto records = access.facets.records->list(**number, state, kRowsOfState);
    if (!records) return failure(records.error());
    made.more = made.more || records->size() == kRowsOfState;
    for (const RecordView& record : *records) {
      if (state == RecordState::kConsuming && !is_lease_over(record)) continue;
      made.rows += stuck_row(consumer, record, shows);
      ++made.count;
    }
  }
  return {};
}

// A page that refreshes every few seconds must not read a whole store each time.
HttpResponse too_many_to_read() {
  return page::html_answer(
      200,
      page::frame("stuck",
                  "<section aria-labelledby=\"stuck\"><h2 id=\"stuck\">Stuck and parked</h2>\n<p "
                  "class=\"empty\">This store would have to read all of its names to find them. "
                  "<code>semel records list --state parked</code> does that; a key that is known "
                  "is <a href=\"record\">looked up</a> at once.</p></section>\n",
                  page::Refreshes::kNever));
}

HttpResponse stuck_page(const ApiCall& call, const ApiSources& sources) {
  const std::string consumer(call.value("consumer"));
  if (!consumer.empty() && sources.config->find(consumer) == nullptr) {
    return not_found(
        fmt::format("there is no consumer \"{}\"", operate::printable(consumer, kStuckName)),
        "the overview has their names");
  }
  return with_store(sources, [&](const operate::StoreAccess& access) {
    const auto backlog = access.facets.records->backlog();
    if (!backlog) return problem(backlog.error());
    if (!backlog->records_counted) return too_many_to_read();
    const core::Disclosure shows = shown_in_lists(sources);
    StuckRows made;
    for (const auto& one : sources.config->consumers) {
      if (!consumer.empty() && one.name != consumer) continue;
      if (const auto added = add_stuck(made, access, one.name, shows); !added) {
        return problem(added.error());
      }
    }
    std::string main =
        "<section aria-labelledby=\"stuck\"><h2 id=\"stuck\">Stuck and parked</h2>\n";
    if (made.count == 0 && made.more) {
      main += "<p class=\"empty\">None of the oldest records that were examined is stuck.</p>\n";
    } else if (made.count == 0) {
      main +=
          "<p class=\"empty\">Nothing waits for a person, and no lease has ended without an end "
          "of its work. What comes here is parked by strategy <code>at_most_once</code>, by "
          "steps that disagree with the code, or left behind by a process that died.</p>\n";
    } else {
      main +=
          "<p>Each key leads to its record, where a person unlocks it or says what became of "
          "it.</p>\n<table class=\"plain\"><thead><tr><th scope=\"col\">Key</th><th "
          "scope=\"col\">State</th><th scope=\"col\">Why</th><th class=\"number\" "
          "scope=\"col\">Attempts</th><th scope=\"col\">Since</th></tr></thead><tbody>\n" +
          made.rows + "</tbody></table>\n";
    }
    if (made.more) {
      main +=
          "<p class=\"empty\">There may be more than are looked at here: <code>semel records "
          "list --state parked</code> shows all.</p>\n";
    }
    return page::html_answer(200,
                             page::frame("stuck", main + "</section>\n", page::Refreshes::kItself));
  });
}

constexpr QueryParameter kStuckParameters[] = {{"consumer", "string", {}}};
constexpr Page kStuckPages[] = {{"/stuck", kStuckParameters, stuck_page}};

}  // namespace

std::span<const Page> stuck_pages() noexcept { return kStuckPages; }

}  // namespace semel::admin
