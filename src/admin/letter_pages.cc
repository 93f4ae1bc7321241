#include "admin/letter_pages.h"

#include <limits>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "admin/api_number.h"
#include "admin/api_route.h"
#include "admin/api_store.h"
#include "admin/html.h"
#include "admin/jobs.h"
#include "admin/letter_filters.h"
#include "admin/problem.h"
#include "base/iso_time.h"
#include "base/json.h"
#include "base/number_text.h"
#include "base/printable.h"
#include "operate/letters.h"
#include "operate/words.h"

namespace semel::admin {

namespace {

using operate::LetterAct;

constexpr std::size_t kRowsOfPage = 50;
constexpr std::size_t kGroupsOfPage = 200;
constexpr std::size_t kKeyOfRow = 60;
constexpr std::size_t kErrorOfRow = 160;
// A question shows all of it, unless it is larger than any that people write.
constexpr std::size_t kSelectionShown = 4'000;

constexpr const char* kScripts[] = {
    "<script src=\"act.js\" defer></script>",
    "<script src=\"page.js\" defer></script><script src=\"act.js\" defer></script>"};
constexpr const char* kRefresh =
    "<p class=\"refresh\" hidden><label>refresh every <select id=\"every\"><option "
    "value=\"2\">2 s</option><option value=\"10\" selected>10 s</option><option value=\"60\">1 "
    "min</option><option value=\"0\">never</option></select></label></p>";

enum class Refreshes { kNever, kItself };

std::string frame(std::string_view title, const std::string& main, Refreshes refreshes) {
  const bool itself = refreshes == Refreshes::kItself;
  return fmt::format(
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">"
      "<title>{0} - Semel</title><link rel=\"stylesheet\" href=\"style.css\">"
      "<link rel=\"icon\" href=\"data:,\">{1}</head><body>\n"
      "<header><h1><a href=\"./\">Semel</a></h1><p role=\"status\">{0}</p>{2}</header>\n"
      "<main>\n{3}</main>\n<footer><a href=\"./\">overview</a> <a href=\"dead-letters\">dead "
      "letters</a></footer>\n</body></html>\n",
      html(title), kScripts[itself ? 1 : 0], itself ? kRefresh : "", main);
}

HttpResponse html_answer(int status, std::string body) {
  return {status, "text/html; charset=utf-8", std::move(body), {}};
}

std::string member_of_problem(const json::Document& document, const char* pointer) {
  const auto found = document.at(json::Pointer::parse(pointer).value());
  const auto* text = found ? std::get_if<std::string>(&*found) : nullptr;
  return text == nullptr ? std::string() : *text;
}

std::string labelled(const char* label, const std::string& value, const char* kind = "word") {
  return fmt::format("<td class=\"{}\" data-label=\"{}\">{}</td>", kind, label, value);
}

// To the second, by a space: as people read it. The whole of it where a pointer rests.
std::string time_cell(UtcTime time) {
  constexpr std::size_t kDate = 10;
  constexpr std::size_t kToSeconds = 19;
  const std::string whole = iso_time(time);
  std::string text = whole;
  if (text.size() > kToSeconds && text[kDate] == 'T') {
    text[kDate] = ' ';
    text.resize(kToSeconds);
  }
  return fmt::format("<time datetime=\"{0}\" title=\"{0}\">{1}</time>", whole, text);
}

std::string count_of(std::size_t count) { return grouped_digits(count, ','); }

std::string shown(BytesView text, std::size_t longest) {
  return html(operate::printable(text, longest));
}

std::string escaped(std::string_view text) {
  std::string made;
  for (const char c : text) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '-' || c == '_' || c == '.';
    made += plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return made;
}

// The parameters that narrow, as a query, without a leading mark; empty where none does.
std::string filter_of_page(const ApiCall& call) {
  std::string made;
  for (const char* name : {"consumer", "reason", "where", "replayed"}) {
    const std::string_view value = call.value(name);
    if (value.empty()) continue;
    made += fmt::format("{}{}={}", made.empty() ? "" : "&", name, escaped(value));
  }
  return made;
}

std::string job_row(const JobView& job) {
  const operate::LetterProgress& progress = job.progress;
  const std::string of = progress.total ? count_of(*progress.total) : "–";
  return fmt::format(
             "<tr><th scope=\"row\"><a href=\"job?id={}\">{} {}</a><span "
             "class=\"about\">{}</span></th>",
             job.id, job.act == LetterAct::kReplay ? "replay" : "discard", job.id,
             shown(job.selection, kErrorOfRow)) +
         labelled("State", std::string(to_string(job.state))) +
         labelled("Done", fmt::format("{} of {}", count_of(progress.taken()), of)) +
         labelled("Began", fmt::format("{} by {}", time_cell(job.began_at), html(job.began_by))) +
         "</tr>\n";
}

std::string jobs_section(const std::vector<JobView>& jobs) {
  if (jobs.empty()) return {};
  std::string made =
      "<section aria-labelledby=\"jobs\"><h2 id=\"jobs\">Jobs of this run</h2>\n<table "
      "class=\"plain\"><thead><tr><th scope=\"col\">Job</th><th scope=\"col\">State</th><th "
      "scope=\"col\">Done</th><th scope=\"col\">Began</th></tr></thead><tbody>\n";
  for (const JobView& job : jobs) made += job_row(job);
  return made + "</tbody></table></section>\n";
}

// To the letters of the group, and no others: a reason alone is also the cause of other groups.
std::string link_of_group(const ApiCall& call, const operate::LetterGroup& group) {
  std::string where(call.value("where"));
  if (!where.empty()) where += " and ";
  where += fmt::format("cause='{}'", group.cause);
  std::string link = fmt::format("letters?consumer={}&reason={}&where={}", escaped(group.consumer),
                                 escaped(group.reason), escaped(where));
  if (const std::string_view replayed = call.value("replayed"); !replayed.empty()) {
    link += fmt::format("&replayed={}", escaped(replayed));
  }
  return link;
}

std::string group_row(const ApiCall& call, const operate::LetterGroup& group) {
  const std::string& reason = group.cause.empty() ? group.reason : group.cause;
  std::string name = html(printable_text(reason));
  // An empty reason cannot be asked for.
  if (!group.reason.empty()) {
    name = fmt::format("<a href=\"{}\">{}</a>", html(link_of_group(call, group)), name);
  }
  std::string about = html(group.consumer);
  if (!group.cause.empty()) about += ", " + html(printable_text(group.reason));
  return fmt::format("<tr><th scope=\"row\">{}<span class=\"about\">{}</span></th>", name, about) +
         labelled("Letters", count_of(group.count), "number") +
         labelled("Oldest", time_cell(group.oldest)) + labelled("Newest", time_cell(group.newest)) +
         labelled("Newest error", shown(group.newest_error, kErrorOfRow)) + "</tr>\n";
}

std::string groups_section(const ApiCall& call, const operate::LetterGroups& made) {
  std::string section =
      "<section aria-labelledby=\"groups\"><h2 id=\"groups\">Dead letters by reason</h2>\n";
  if (made.groups.empty()) {
    return section +
           "<p class=\"empty\">No dead letters: nothing was given up. A message that is comes "
           "here, with "
           "its reason; <code>semel tap CONSUMER</code> shows how messages end "
           "now.</p></section>\n";
  }
  section +=
      "<table class=\"plain\"><thead><tr><th scope=\"col\">Reason</th><th "
      "class=\"number\" scope=\"col\">Letters</th><th scope=\"col\">Oldest</th><th "
      "scope=\"col\">Newest</th><th "
      "scope=\"col\">Newest error</th></tr></thead><tbody>\n";
  for (const operate::LetterGroup& group : made.groups) section += group_row(call, group);
  section += "</tbody></table>\n";
  if (made.walk.next || made.ungrouped > 0) {
    section +=
        "<p class=\"empty\">There are more than can be counted at once: "
        "<code>letters?consumer=NAME</code> narrows them.</p>\n";
  }
  return section + "</section>\n";
}

HttpResponse groups_page(const ApiCall& call, const ApiSources& sources) {
  auto query = letter_query(call);
  if (!query) return std::move(query.error());
  query->limit = std::numeric_limits<std::size_t>::max();
  return with_dead_letters(sources, [&](const operate::StoreAccess& access) {
    const auto made = operate::group_letters(access, *query, kGroupsOfPage);
    if (!made) return problem(made.error());
    return html_answer(
        200, frame("dead letters", groups_section(call, *made) + jobs_section(sources.jobs->list()),
                   Refreshes::kItself));
  });
}

// A button that sends a write; act.js gives it its effect, and shows it.
std::string button(const std::string& path, const char* word, const std::string& question) {
  return fmt::format(
      "<button type=\"button\" hidden data-post=\"{}\" data-question=\"{}\">{}</button> ",
      html(path), html(question), word);
}

// "more than 1,000 letters".
std::string letters_text(std::size_t count, const operate::LetterWalk& walk) {
  return fmt::format("{}{} {}", walk.next ? "more than " : "", count_of(count),
                     count == 1 ? "letter" : "letters");
}

std::string plan_section(const ApiCall& call, const operate::LetterGroups& plan,
                         const std::string& selection) {
  const std::size_t all = plan.walk.seen + plan.walk.on_their_way;
  const std::string letters = letters_text(plan.walk.seen, plan.walk);
  const std::string discarded = letters_text(all, plan.walk);
  const std::string filter = filter_of_page(call);
  const std::string query = filter.empty() ? "all=true" : filter;
  std::string made = fmt::format(
      "<section aria-labelledby=\"plan\"><h2 id=\"plan\">What a replay would do</h2>\n"
      "<p>{}{} tried again, each through its record: what is completed meanwhile is skipped."
      "{}</p>\n",
      plan.walk.next ? "More than " : "",
      plan.walk.seen == 1 ? "1 letter would be" : count_of(plan.walk.seen) + " letters would be",
      plan.walk.on_their_way == 0
          ? std::string()
          : fmt::format(" {} on their way since an earlier replay are left alone.",
                        count_of(plan.walk.on_their_way)));
  if (!call.has(core::Role::kOperator)) {
    return made +
           "<p class=\"empty\">To replay needs a token of <code>admin.auth.tokens</code> with the "
           "role <code>operator</code>.</p></section>\n";
  }
  const bool discards = call.has(core::Role::kAdmin) && all > 0;
  if (plan.walk.seen == 0 && !discards) return made + "</section>\n";
  if (discards && plan.walk.on_their_way > 0) {
    made += fmt::format("<p>A discard would remove {}: those on their way too.</p>\n", discarded);
  }
  made +=
      "<p><label>rate <select id=\"rate\"><option value=\"\">as fast as it goes</option><option "
      "value=\"10/s\">10/s</option><option value=\"100/s\" selected>100/s</option><option "
      "value=\"1000/s\">1000/s</option></select></label> ";
  if (plan.walk.seen > 0) {
    made += button("api/v1/dead-letters:replay?" + query, "Replay",
                   fmt::format("Replay {}: {}?", letters, selection));
  }
  if (discards) {
    made += button("api/v1/dead-letters:discard?" + query, "Discard",
                   fmt::format("Discard {}: {}? What is discarded cannot be brought back.",
                               discarded, selection));
  }
  return made +
         "</p>\n<noscript><p>Without JavaScript: <code>semel dlq replay</code>, or the API with a "
         "token.</p></noscript></section>\n";
}

std::string letter_row(const DeadLetter& letter) {
  return fmt::format("<tr><th scope=\"row\">{}<span class=\"about\">{}</span></th>",
                     letter.key.empty() ? "no key" : shown(letter.key, kKeyOfRow),
                     html(letter.consumer)) +
         labelled("Id", std::to_string(letter.id), "number") +
         labelled("Attempts", std::to_string(letter.attempts), "number") +
         labelled("Replayed", std::to_string(letter.replayed), "number") +
         labelled("Died", time_cell(letter.dead_at)) +
         labelled("Error", shown(letter.error, kErrorOfRow)) + "</tr>\n";
}

HttpResponse letters_page(const ApiCall& call, const ApiSources& sources) {
  if (auto refusal = refusal_of_empty(call)) return *std::move(refusal);
  auto query = letter_query(call);
  if (!query) return std::move(query.error());
  if (const std::string_view after = call.value("after"); !after.empty()) {
    const auto number = whole_number(after);
    if (!number) return bad_request("after is no id", "the link to the next page");
    query->after = *number;
  }
  return with_dead_letters(sources, [&](const operate::StoreAccess& access) {
    operate::LetterQuery rows = *query;
    rows.limit = kRowsOfPage;
    std::string table;
    const auto walk = operate::walk_letters(
        access, rows, [&](const DeadLetter& letter) { table += letter_row(letter); });
    if (!walk) return problem(walk.error());
    operate::LetterQuery all = *query;
    all.after = 0;
    all.settled = true;
    all.foreign = false;
    all.limit = std::numeric_limits<std::size_t>::max();
    const auto plan = operate::group_letters(access, all, 1);
    if (!plan) return problem(plan.error());
    const std::string selection =
        operate::printable(operate::query_text(*query, call.value("where")), kSelectionShown);
    std::string main = plan_section(call, *plan, selection);
    main += fmt::format("<section aria-labelledby=\"letters\"><h2 id=\"letters\">{}</h2>\n",
                        html(selection));
    if (table.empty()) {
      main +=
          "<p class=\"empty\">None matches. <a href=\"dead-letters\">All dead letters</a></p>\n";
    } else {
      main +=
          "<table class=\"plain\"><thead><tr><th scope=\"col\">Key</th><th "
          "class=\"number\" scope=\"col\">Id</th><th "
          "class=\"number\" scope=\"col\">Attempts</th><th class=\"number\" "
          "scope=\"col\">Replayed</th><th "
          "scope=\"col\">Died</th><th scope=\"col\">Error</th></tr></thead><tbody>\n" +
          table + "</tbody></table>\n";
    }
    if (walk->next) {
      const std::string filter = filter_of_page(call);
      main += fmt::format("<p><a href=\"letters?{}{}after={}\">Next page</a></p>\n", html(filter),
                          filter.empty() ? "" : "&amp;", *walk->next);
    }
    return html_answer(200, frame("dead letters", main + "</section>\n", Refreshes::kNever));
  });
}

std::string job_buttons(const ApiCall& call, const JobView& job) {
  const bool may = call.has(core::Role::kOperator);
  if (is_over(job.state) || !may) return {};
  const std::string path = fmt::format("api/v1/jobs/{}/", job.id);
  std::string made = "<p>";
  if (job.state == JobState::kPaused || job.state == JobState::kWaiting) {
    const bool discards = job.act == LetterAct::kDiscard;
    if (!discards || call.has(core::Role::kAdmin)) made += button(path + "resume", "Resume", "");
  }
  if (job.state != JobState::kPaused) made += button(path + "pause", "Pause", "");
  made += button(path + "cancel", "Cancel", "End this job? What it has done stays done.");
  return made + "</p>\n";
}

HttpResponse job_page(const ApiCall& call, const ApiSources& sources) {
  const auto id = whole_number(call.value("id"));
  const auto job = id ? sources.jobs->show(*id) : std::nullopt;
  if (!job) {
    return not_found("there is no such job",
                     "jobs end with the run that began them; the audit log has how they ended");
  }
  const operate::LetterProgress& progress = job->progress;
  const std::size_t total = progress.total.value_or(0);
  std::string main = fmt::format(
      "<section aria-labelledby=\"job\"><h2 id=\"job\">Job {}: {} {}</h2>\n"
      "<p><span class=\"state\">{}</span> {}</p>\n",
      job->id, job->act == LetterAct::kReplay ? "replay" : "discard",
      shown(job->selection, kErrorOfRow), to_string(job->state), html(printable_text(job->why)));
  if (total > 0) {
    main += fmt::format("<progress max=\"{}\" value=\"{}\"></progress>\n", total, progress.taken());
  }
  main += fmt::format("<p>{} of {}: {}</p>\n", count_of(progress.taken()),
                      progress.total ? count_of(total) : "those being counted",
                      operate::progress_text(job->act, progress));
  if (!progress.last_error.empty()) {
    main += fmt::format("<p class=\"bad\">{}</p>\n", shown(progress.last_error, kErrorOfRow));
  }
  main += fmt::format("<p class=\"about\">Begun by {} at {}{}{}</p>\n", html(job->began_by),
                      time_cell(job->began_at),
                      job->rate.empty() ? "" : ", not faster than " + job->rate,
                      job->reason.empty() ? "" : ": " + shown(job->reason, kErrorOfRow));
  main += job_buttons(call, *job) + "</section>\n";
  return html_answer(200, frame("job", main, Refreshes::kItself));
}

constexpr QueryParameter kPageParameters[] = {{"consumer", "string", {}},
                                              {"reason", "string", {}},
                                              {"replayed", "boolean", {}},
                                              {"where", "string", {}},
                                              {"after", "string", {}}};
constexpr QueryParameter kJobParameters[] = {{"id", "string", {}}};

struct LetterPage {
  std::string_view path;
  std::span<const QueryParameter> query;
  HttpResponse (*show)(const ApiCall&, const ApiSources&);
};
constexpr LetterPage kLetterPages[] = {
    {"/dead-letters", std::span(kPageParameters).first(4), groups_page},
    {"/letters", kPageParameters, letters_page},
    {"/job", kJobParameters, job_page}};

constexpr std::string_view kActScript = R"js(
'use strict';
// Buttons that write need a script: a write is JSON, which no form of another site can send.
function show_buttons() {
  for (const one of document.querySelectorAll('button[data-post]')) one.hidden = false;
}
async function act(one) {
  if (one.dataset.question && !confirm(one.dataset.question)) return;
  one.disabled = true;
  const rate = document.getElementById('rate');
  const body = rate !== null && rate.value !== '' ? { rate: rate.value } : {};
  const here = location.origin + location.pathname;
  try {
    const answer = await fetch(new URL(one.dataset.post, here),
                               { method: 'POST', headers: { 'Content-Type': 'application/json' },
                                 body: JSON.stringify(body) });
    const said = await answer.json();
    if (!answer.ok) throw new Error(said.detail + (said.fix ? ': ' + said.fix : ''));
    location.assign(new URL('job?id=' + said.job.id, here));
  } catch (error) {
    document.querySelector('header p').textContent = error.message;
    one.disabled = false;
  }
}
document.addEventListener('click', (event) => {
  const one = event.target.closest('button[data-post]');
  if (one !== null) act(one);
});
new MutationObserver(show_buttons).observe(document.body, { childList: true, subtree: true });
show_buttons();
)js";

}  // namespace

std::optional<HttpReply> letter_page(const HttpRequest& request, const Caller& caller,
                                     const ApiSources& sources) {
  for (const LetterPage& page : kLetterPages) {
    if (page.path != request.path) continue;
    auto query = query_for(page.query, request);
    if (!query) return readable(std::move(query.error()));
    HttpTask task;
    task.run = [&page, &sources, call = ApiCall{caller, {}, *std::move(query), {}, {}}] {
      return readable(page.show(call, sources));
    };
    task.patience = Api::kPatience;
    const Error waits{ErrorKind::kUnavailable, "R345", "the store did not answer in time",
                      "look at /readyz: is the store away?"};
    task.refused = task.late = readable(problem(503, waits));
    return task;
  }
  return std::nullopt;
}

HttpResponse readable(HttpResponse answer) {
  if (answer.content_type != "application/problem+json") return answer;
  json::Document document;
  std::string text;
  if (document.parse(answer.body)) {
    text = fmt::format("<section><h2>{}</h2><p>{}</p></section>\n",
                       html(member_of_problem(document, "/detail")),
                       html(member_of_problem(document, "/fix")));
  }
  answer.content_type = "text/html; charset=utf-8";
  answer.body = frame("error", text, Refreshes::kNever);
  return answer;
}

std::string_view act_script() noexcept { return kActScript; }

}  // namespace semel::admin
