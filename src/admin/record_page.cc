// The page about a record: its state, the reason, and the acts that an operator can choose. Without
// a key the page is a search box.
#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <semel/reason.h>

#include "admin/api_store.h"
#include "admin/html.h"
#include "admin/page_parts.h"
#include "admin/pages.h"
#include "admin/problem.h"
#include "admin/record_story.h"
#include "admin/shown.h"
#include "base/printable.h"
#include "core/step_key.h"
#include "operate/cause.h"
#include "operate/records.h"
#include "operate/views.h"

namespace semel::admin {

namespace {

constexpr std::size_t kTitleKey = 200;
constexpr std::size_t kQuestionKey = 80;
constexpr std::size_t kErrorOfRecord = 2'000;
constexpr std::size_t kResultShown = 2'000;
constexpr std::size_t kIdShown = 80;
constexpr int kNotFound = 404;

std::string search_section(const ApiSources& sources, std::string_view consumer,
                           std::string_view key) {
  std::string options = "<option value=\"\">any</option>";
  for (const auto& one : sources.config->consumers) {
    options += fmt::format("<option{}>{}</option>", one.name == consumer ? " selected" : "",
                           html(one.name));
  }
  return fmt::format(
      "<section aria-labelledby=\"search\"><h2 id=\"search\">Look up a key</h2>\n"
      "<form action=\"record\" method=\"get\" role=\"search\"><label>key <input id=\"key\" "
      "name=\"key\" value=\"{}\" autocomplete=\"off\" spellcheck=\"false\"></label> "
      "<label>consumer "
      "<select name=\"consumer\">{}</select></label> <button>Look up</button></form>\n"
      "<p class=\"about\">The key as the producer wrote it, all of it. A byte that is no text is "
      "written as <code>\\xff</code>.</p></section>\n",
      html(operate::printable(key)), options);
}

// Replaces each \xff escape by its byte; nullopt if the text has no escapes.
std::optional<Bytes> with_bytes(std::string_view text) {
  constexpr std::size_t kEscape = 4;
  const auto digit = [](char c) -> int {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
  };
  Bytes made;
  bool any = false;
  while (!text.empty()) {
    const bool escape = text.size() >= kEscape && text.starts_with("\\x") && digit(text[2]) >= 0 &&
                        digit(text[3]) >= 0;
    if (escape) {
      made += static_cast<char>(digit(text[2]) * 16 + digit(text[3]));
      any = true;
    } else {
      made += text.front();
    }
    text.remove_prefix(escape ? kEscape : 1);
  }
  if (!any) return std::nullopt;
  return made;
}

std::string fact(const char* name, const std::string& value) {
  return value.empty() ? std::string() : fmt::format("<dt>{}</dt><dd>{}</dd>\n", name, value);
}

std::string time_fact(const char* name, const std::optional<StoreTime>& time) {
  return time ? fact(name, page::time_cell(*time)) : std::string();
}

std::string contents_fact(const char* name, BytesView bytes, const core::Disclosure& shows) {
  if (bytes.empty()) return {};
  const auto text = operate::shown_contents(bytes, shows);
  if (!text) {
    return fact(name, fmt::format("<span class=\"unseen\">{} bytes, not shown</span>",
                                  page::count_of(bytes.size())));
  }
  return fact(name, fmt::format("<code>{}</code>", page::shown(*text, kResultShown)));
}

std::string error_fact(const RecordView& record, const core::Disclosure& shows) {
  if (record.error.empty()) return {};
  if (shows.errors == core::Disclosure::Errors::kText) {
    return fact("Error", page::shown(record.error, kErrorOfRecord));
  }
  return fact("Error", page::error_cell(record.reason, record.error, shows));
}

std::string facts_of(const operate::FoundRecord& found, const core::Disclosure& shows) {
  const RecordView& record = found.record;
  std::string made = "<dl>\n";
  made += fact("Consumer",
               fmt::format("<a href=\"{}\">{}</a>", html(page::consumer_link(found.consumer)),
                           html(found.consumer)));
  made += fact("State", fmt::format("<span class=\"state\">{}</span>", to_string(record.state)));
  if (record.attempt > 0) made += fact("Attempts", std::to_string(record.attempt));
  made += fact("Reason", html(printable_text(record.reason)));
  made += fact("Cause", html(printable_text(operate::cause_of(record.reason, record.error))));
  made += error_fact(record, shows);
  if (record.outcome_unknown) made += fact("Outcome", "unknown: its effect may have happened");
  made += time_fact("First seen", record.first_seen);
  made += time_fact("Lease until", record.lease_until);
  made += time_fact("Next try", record.next_at);
  made += time_fact("Effect recorded", record.completed_at);
  made += contents_fact("Result", record.result, shows);
  made += fact("Fingerprint", operate::hex_of(record.fingerprint.view()));
  return made + fact("Id", operate::hex_of(record.id.view())) + "</dl>\n";
}

std::string timeline_of(const RecordStory& story, UtcTime now, bool keeps_deliveries) {
  std::string made = "<section aria-labelledby=\"timeline\"><h2 id=\"timeline\">Timeline</h2>\n";
  if (story.events.empty()) {
    made += "<p class=\"empty\">The store keeps no times for it.</p>\n";
  } else {
    made += "<ol class=\"timeline\">\n";
    for (const StoryEvent& event : story.events) {
      made += fmt::format("<li class=\"{}{}\">{} {}</li>\n", event.kind,
                          event.at > now ? " to-come" : "", page::time_cell(event.at),
                          html(event.text));
    }
    made += "</ol>\n";
  }
  if (keeps_deliveries) {
    made += "<p class=\"about\">Deliveries are those that this process remembers of its own.</p>\n";
  }
  return made + "</section>\n";
}

std::string steps_of(const StepJournal& journal, const core::Disclosure& shows) {
  if (journal.entries.empty()) return {};
  std::string made =
      "<section aria-labelledby=\"steps\"><h2 id=\"steps\">Steps</h2>\n<table "
      "class=\"plain\"><thead><tr><th scope=\"col\">Step</th><th scope=\"col\">State</th><th "
      "scope=\"col\">Result</th></tr></thead><tbody>\n";
  for (const StepEntry& entry : journal.entries) {
    const auto result = operate::shown_contents(entry.result, shows);
    made += fmt::format("<tr><th scope=\"row\">{}</th>",
                        page::shown(core::step_name(entry.name, entry.id), kIdShown)) +
            page::labelled("State", operate::state_word(entry)) +
            page::labelled("Result", entry.result.empty() ? "–"
                                     : result             ? page::shown(*result, kIdShown)
                                              : fmt::format("<span class=\"unseen\">{} bytes, not "
                                                            "shown</span>",
                                                            page::count_of(entry.result.size()))) +
            "</tr>\n";
  }
  made += "</tbody></table>\n";
  if (journal.giving_up) {
    made += "<p>The message is given up: what its steps did is being undone.</p>\n";
  }
  return made + "</section>\n";
}

// A plain unlock is refused: an operator must say what happened to the effect.
bool must_be_decided(const RecordView& record) {
  return record.reason == reason::kLeaseParked || record.reason == reason::kOutcomeUnknown;
}

bool is_held(const RecordView& record, UtcTime now) {
  return record.state == RecordState::kConsuming && record.lease_until && *record.lease_until > now;
}

std::string path_of(const operate::FoundRecord& found, const char* verb) {
  return fmt::format("api/v1/consumers/{}/records/{}/{}", page::escaped(found.consumer),
                     page::escaped(found.key), verb);
}

// The acts that the state allows, whatever the viewer's role.
struct Possible {
  bool unlock = false;
  bool decide = false;  // an operator must say what happened to the effect
  bool forget = false;
};

Possible possible_of(const RecordView& record, UtcTime now) {
  const bool parked = record.state == RecordState::kParked;
  const bool lease_over =
      record.state == RecordState::kConsuming && record.lease_until && !is_held(record, now);
  Possible made;
  made.unlock = record.state == RecordState::kDead || (parked && !must_be_decided(record));
  made.decide = (parked && must_be_decided(record)) || lease_over;
  made.forget = !is_held(record, now);
  return made;
}

std::string buttons_of(const operate::FoundRecord& found, const Possible& possible, bool admin) {
  const std::string key = operate::printable(found.key, kQuestionKey);
  std::string made;
  if (possible.unlock) {
    made += page::button(path_of(found, "unlock"), "Unlock",
                         fmt::format("Try {} of {} again, now?", key, found.consumer));
  }
  if (admin && possible.decide) {
    const std::string path = path_of(found, "unlock");
    made += page::button(path, "It had its effect",
                         fmt::format("Say that the effect of {} happened? It is recorded as done, "
                                     "and is never tried.",
                                     key),
                         "done");
    made += page::button(path, "It had none: try again",
                         fmt::format("Say that the effect of {} did not happen, and try it again? "
                                     "If it did, it happens twice.",
                                     key),
                         "retry");
    made += page::button(
        path, "It had none: give it up",
        fmt::format("Say that the effect of {} did not happen, and must never happen?", key),
        "dead");
  }
  if (admin && possible.forget) {
    made +=
        page::button(path_of(found, "forget"), "Forget",
                     fmt::format("Forget the record of {}? Its next delivery is handled as new: "
                                 "an effect that exists happens again.",
                                 key));
  }
  return made;
}

std::string actions_of(const ApiCall& call, const operate::FoundRecord& found, UtcTime now) {
  const Possible possible = possible_of(found.record, now);
  const bool admin = call.has(core::Role::kAdmin);
  std::string made =
      "<section aria-labelledby=\"actions\"><h2 id=\"actions\">What a person can do</h2>\n";
  if (!possible.unlock && !possible.decide && !possible.forget) {
    return made +
           "<p class=\"empty\">Nothing while a worker holds it: its lease is renewed until its "
           "handler ends, or hangs past its timeout.</p></section>\n";
  }
  const std::string buttons =
      call.has(core::Role::kOperator) ? buttons_of(found, possible, admin) : std::string();
  if (!buttons.empty()) {
    made += fmt::format(
        "<p class=\"with-script\" hidden><label>reason, for the audit log <input id=\"reason\" "
        "maxlength=\"1000\"></label></p>\n<p>{}</p>\n"
        "<noscript><p>Without JavaScript: <code>semel records unlock</code> and <code>semel "
        "records "
        "forget</code>, or the API with a token.</p></noscript>\n",
        buttons);
  }
  std::string missing;
  if (possible.unlock && !call.has(core::Role::kOperator)) {
    missing +=
        "<p class=\"empty\">To unlock it needs a token of <code>admin.auth.tokens</code> "
        "with the role <code>operator</code>.</p>\n";
  }
  if (possible.decide && !admin) {
    missing +=
        "<p class=\"empty\">To say what became of its effect needs the role "
        "<code>admin</code>.</p>\n";
  }
  if (possible.forget && !admin) {
    missing +=
        "<p class=\"empty\">To forget it, so that its next delivery is handled as new, needs "
        "the role <code>admin</code>.</p>\n";
  }
  return made + missing + "</section>\n";
}

HttpResponse record_answer(const ApiCall& call, const ApiSources& sources,
                           const operate::StoreAccess& access, const operate::FoundRecord& found) {
  const auto journals = operate::journals_of(access, {found});
  if (!journals) return problem(journals.error());
  const core::Disclosure shows = shown_to(call, sources);
  std::vector<telemetry::RecentDeliveries::Pointer> deliveries;
  if (sources.recent != nullptr) deliveries = sources.recent->of(found.record.id);
  const StoreTime now = operate::time_of(found.record);
  const RecordStory story =
      story_of({found.record, *sources.config->find(found.consumer), deliveries, now}, shows);
  std::string main = fmt::format(
      "<section aria-labelledby=\"record\"><h2 id=\"record\" class=\"key-title\">{}</h2>\n<p "
      "class=\"story\">{}</p>\n{}",
      page::shown(found.key, kTitleKey), html(story.sentence), facts_of(found, shows));
  if (found.record.state == RecordState::kDead || found.record.state == RecordState::kParked) {
    main += fmt::format("<p><a href=\"letters?consumer={}\">Dead letters of {}</a></p>\n",
                        html(page::escaped(found.consumer)), html(found.consumer));
  }
  main += "</section>\n" + timeline_of(story, now, sources.recent != nullptr) +
          steps_of(journals->front(), shows) + actions_of(call, found, now) +
          search_section(sources, found.consumer, {});
  return page::html_answer(200, page::frame("record", main, page::Refreshes::kItself));
}

HttpResponse several_answer(const ApiSources& sources,
                            const std::vector<operate::FoundRecord>& found) {
  std::string main =
      "<section aria-labelledby=\"several\"><h2 id=\"several\">Several consumers have this "
      "key</h2>\n<table class=\"plain\"><thead><tr><th scope=\"col\">Consumer</th><th "
      "scope=\"col\">State</th></tr></thead><tbody>\n";
  for (const operate::FoundRecord& one : found) {
    main += fmt::format("<tr><th scope=\"row\"><a href=\"{}\">{}</a></th>",
                        html(page::record_link(one.consumer, one.key)), html(one.consumer)) +
            page::labelled("State", to_string(one.record.state)) + "</tr>\n";
  }
  main += "</tbody></table></section>\n";
  main += search_section(sources, {}, found.front().key);
  return page::html_answer(200, page::frame("records", main, page::Refreshes::kNever));
}

HttpResponse none_answer(const ApiSources& sources, std::string_view consumer,
                         std::string_view key) {
  std::string main =
      fmt::format("<section aria-labelledby=\"none\"><h2 id=\"none\">No record of “{}”</h2>\n",
                  page::shown(key, kTitleKey));
  for (const auto& one : sources.config->consumers) {
    if (!consumer.empty() && one.name != consumer) continue;
    main += fmt::format("<p>Consumer {} has none. That means one of:</p><ul>\n", html(one.name));
    for (const std::string& why : why_no_record(one)) {
      main += fmt::format("<li>{}</li>\n", html(why));
    }
    main += "</ul>\n";
  }
  main += "<p>What is delivered now under this key is handled as new.</p></section>\n" +
          search_section(sources, consumer, key);
  return page::html_answer(kNotFound, page::frame("no record", main, page::Refreshes::kNever));
}

HttpResponse record_page(const ApiCall& call, const ApiSources& sources) {
  const std::string consumer(call.value("consumer"));
  const Bytes key(call.value("key"));
  if (!consumer.empty() && sources.config->find(consumer) == nullptr) {
    return not_found(
        fmt::format("there is no consumer \"{}\"", operate::printable(consumer, kIdShown)),
        "the overview has their names");
  }
  if (key.empty()) {
    return page::html_answer(200, page::frame("records", search_section(sources, consumer, {}),
                                              page::Refreshes::kNever));
  }
  std::vector<std::string> consumers;
  for (const auto& one : sources.config->consumers) {
    if (consumer.empty() || one.name == consumer) consumers.push_back(one.name);
  }
  return with_store(sources, [&](const operate::StoreAccess& access) {
    auto found = operate::find_records(access, consumers, key);
    if (!found) return problem(found.error());
    if (const auto bytes = with_bytes(key); found->empty() && bytes) {
      found = operate::find_records(access, consumers, *bytes);
      if (!found) return problem(found.error());
    }
    if (found->empty()) return none_answer(sources, consumer, key);
    if (found->size() > 1) return several_answer(sources, *found);
    return record_answer(call, sources, access, found->front());
  });
}

constexpr QueryParameter kRecordParameters[] = {{"consumer", "string", {}}, {"key", "string", {}}};
constexpr Page kRecordPages[] = {{"/record", kRecordParameters, record_page, true}};

}  // namespace

std::span<const Page> record_pages() noexcept { return kRecordPages; }

}  // namespace semel::admin
