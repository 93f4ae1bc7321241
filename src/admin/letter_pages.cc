// The pages about dead letters: their groups, the letters that match a filter with the plan of a
// replay, and the jobs that process them.
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "admin/api_number.h"
#include "admin/api_route.h"
#include "admin/api_store.h"
#include "admin/html.h"
#include "admin/jobs.h"
#include "admin/letter_filters.h"
#include "admin/page_parts.h"
#include "admin/pages.h"
#include "admin/problem.h"
#include "admin/shown.h"
#include "base/iso_time.h"
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
constexpr std::size_t kTextOfRow = 160;
// The confirmation shows the whole filter unless it is longer than any that people write.
constexpr std::size_t kSelectionShown = 4'000;
constexpr std::string_view kUsualRate = "100/s";

// The filter parameters as a query string without a leading mark; empty without a filter.
std::string filter_of_page(const ApiCall& call) {
  std::string made;
  for (const char* name : {"consumer", "reason", "where", "replayed"}) {
    const std::string_view value = call.value(name);
    if (value.empty()) continue;
    made += fmt::format("{}{}={}", made.empty() ? "" : "&", name, page::escaped(value));
  }
  return made;
}

std::string job_row(const JobView& job) {
  const operate::LetterProgress& progress = job.progress;
  const std::string of = progress.total ? page::count_of(*progress.total) : "–";
  return fmt::format(
             "<tr><th scope=\"row\"><a href=\"job?id={}\">{} {}</a><span "
             "class=\"about\">{}</span></th>",
             job.id, job.act == LetterAct::kReplay ? "replay" : "discard", job.id,
             page::shown(job.selection, kTextOfRow)) +
         page::labelled("State", std::string(to_string(job.state))) +
         page::labelled("Done", fmt::format("{} of {}", page::count_of(progress.taken()), of)) +
         page::labelled("Began", fmt::format("<span>{} by {}</span>", page::time_cell(job.began_at),
                                             html(job.began_by))) +
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

// A link to the letters of this group only: the reason alone may also occur in other groups.
std::string link_of_group(const ApiCall& call, const operate::LetterGroup& group) {
  std::string where(call.value("where"));
  if (!where.empty()) where += " and ";
  where += fmt::format("cause='{}'", group.cause);
  std::string link =
      fmt::format("letters?consumer={}&reason={}&where={}", page::escaped(group.consumer),
                  page::escaped(group.reason), page::escaped(where));
  if (const std::string_view replayed = call.value("replayed"); !replayed.empty()) {
    link += fmt::format("&replayed={}", page::escaped(replayed));
  }
  return link;
}

std::string group_row(const ApiCall& call, const operate::LetterGroup& group,
                      const core::Disclosure& shows) {
  const std::string& reason = group.cause.empty() ? group.reason : group.cause;
  std::string name = html(printable_text(reason));
  // The API cannot filter by an empty reason.
  if (!group.reason.empty()) {
    name = fmt::format("<a href=\"{}\">{}</a>", html(link_of_group(call, group)), name);
  }
  std::string about = html(group.consumer);
  if (!group.cause.empty()) about += ", " + html(printable_text(group.reason));
  return fmt::format("<tr><th scope=\"row\">{}<span class=\"about\">{}</span></th>", name, about) +
         page::labelled("Letters", page::count_of(group.count), "number") +
         page::labelled("Oldest", page::time_cell(group.oldest)) +
         page::labelled("Newest", page::time_cell(group.newest)) +
         page::labelled("Newest error", page::error_cell(group.reason, group.newest_error, shows)) +
         "</tr>\n";
}

// Letters that were replayed and done are not in the groups, but are in the metric.
std::string done_since(const operate::LetterWalk& walk) {
  if (walk.done == 0) return {};
  return fmt::format(
      "<p class=\"about\">{} {} replayed and {} done since, and {} in the store until the config's "
      "<code>dead_letter.expire</code> or a discard: <a href=\"letters?replayed=true\">replayed "
      "and "
      "done</a>.</p>\n",
      page::count_of(walk.done), walk.done == 1 ? "letter was" : "letters were",
      walk.done == 1 ? "is" : "are", walk.done == 1 ? "stays" : "stay");
}

std::string groups_section(const ApiCall& call, const operate::LetterGroups& made,
                           const core::Disclosure& shows) {
  std::string section =
      "<section aria-labelledby=\"groups\"><h2 id=\"groups\">Dead letters by reason</h2>\n";
  if (made.groups.empty() && made.walk.done > 0) {
    return section + "<p class=\"empty\">No dead letters are left.</p>" + done_since(made.walk) +
           "</section>\n";
  }
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
  for (const operate::LetterGroup& group : made.groups) section += group_row(call, group, shows);
  section += "</tbody></table>\n" + done_since(made.walk);
  if (made.walk.next || made.ungrouped > 0) {
    section +=
        "<p class=\"empty\">There are more than can be counted at once: "
        "<code>letters?consumer=NAME</code> narrows them.</p>\n";
  }
  return section + "</section>\n";
}

HttpResponse groups_page(const ApiCall& call, const ApiSources& sources) {
  auto query = letter_query(call, sources);
  if (!query) return std::move(query.error());
  query->limit = std::numeric_limits<std::size_t>::max();
  return with_dead_letters(sources, [&](const operate::StoreAccess& access) {
    const auto made = operate::group_letters(access, *query, kGroupsOfPage);
    if (!made) return problem(made.error());
    return page::html_answer(200, page::frame("dead letters",
                                              groups_section(call, *made, shown_in_lists(sources)) +
                                                  jobs_section(sources.jobs->list()),
                                              page::Refreshes::kItself));
  });
}

// "more than 1,000 letters".
std::string letters_text(std::size_t count, const operate::LetterWalk& walk) {
  return fmt::format("{}{} {}", walk.next ? "more than " : "", page::count_of(count),
                     count == 1 ? "letter" : "letters");
}

std::string rate_choice() {
  std::string made =
      "<label>rate <select id=\"rate\"><option value=\"\">as fast as it goes</option>";
  for (const char* const rate : {"10/s", "50/s", "100/s", "1000/s"}) {
    made += fmt::format("<option value=\"{0}\"{1}>{0}</option>", rate,
                        std::string_view(rate) == kUsualRate ? " selected" : "");
  }
  return made + "</select></label> ";
}

// The letters that a replay would leave alone, as sentences.
std::string skipped_text(const operate::LetterWalk& walk) {
  std::string made;
  if (walk.skipped_completed > 0) {
    made += fmt::format(" {} would be skipped: completed meanwhile.",
                        page::count_of(walk.skipped_completed));
  }
  if (walk.skipped_conflict > 0) {
    made += fmt::format(" {} would be skipped: the key belongs to another payload.",
                        page::count_of(walk.skipped_conflict));
  }
  return made;
}

// `up_to`: the last letter that the plan covers.
std::string plan_section(const ApiCall& call, const operate::LetterGroups& plan,
                         const std::string& selection, std::int64_t up_to) {
  const std::size_t all = plan.walk.seen + plan.walk.on_their_way;
  const std::size_t replayed =
      plan.walk.seen - plan.walk.skipped_completed - plan.walk.skipped_conflict;
  const std::string letters = letters_text(replayed, plan.walk);
  const std::string discarded = letters_text(all, plan.walk);
  const std::string filter = filter_of_page(call);
  const std::string query = filter.empty() ? "all=true" : filter;
  std::string made = fmt::format(
      "<section aria-labelledby=\"plan\"><h2 id=\"plan\">What a replay would do</h2>\n"
      "<p>{}{} tried again, each through its record: what is completed meanwhile is skipped."
      "{}{}</p>\n",
      plan.walk.next ? "More than " : "",
      replayed == 1 ? "1 letter would be" : page::count_of(replayed) + " letters would be",
      skipped_text(plan.walk),
      plan.walk.on_their_way == 0
          ? std::string()
          : fmt::format(" {} on their way since an earlier replay are left alone.",
                        page::count_of(plan.walk.on_their_way)));
  if (!call.has(core::Role::kOperator)) {
    return made +
           "<p class=\"empty\">To replay needs a token of <code>admin.auth.tokens</code> with the "
           "role <code>operator</code>.</p></section>\n";
  }
  const bool discards = call.has(core::Role::kAdmin) && all > 0;
  if (replayed == 0 && !discards) return made + "</section>\n";
  if (discards && plan.walk.on_their_way > 0) {
    made += fmt::format("<p>A discard would remove {}: those on their way too.</p>\n", discarded);
  }
  made +=
      "<p class=\"with-script\" hidden><label>reason, for the audit log <input id=\"reason\" "
      "maxlength=\"1000\"></label></p>\n<p>" +
      rate_choice();
  if (replayed > 0) {
    made += page::job_button("api/v1/dead-letters:replay?" + query, "Replay",
                             fmt::format("Replay {}: {}?", letters, selection), up_to);
  }
  if (discards) {
    made += page::job_button(
        "api/v1/dead-letters:discard?" + query, "Discard",
        fmt::format("Discard {}: {}? A discard cannot be undone.", discarded, selection), up_to);
  }
  return made +
         "</p>\n<noscript><p>Without JavaScript: <code>semel dlq replay</code>, or the API with a "
         "token.</p></noscript></section>\n";
}

std::string letter_row(const DeadLetter& letter, const core::Disclosure& shows) {
  return fmt::format("<tr><th scope=\"row\">{}<span class=\"about\">{}{}</span></th>",
                     letter.key.empty() ? "no key" : page::shown(letter.key, kKeyOfRow),
                     html(letter.consumer),
                     letter.key.empty()
                         ? std::string()
                         : fmt::format(" <a href=\"{}\">its record</a>",
                                       html(page::record_link(letter.consumer, letter.key)))) +
         page::labelled("Id", fmt::format("<a href=\"letter?id={0}\">{0}</a>", letter.id),
                        "number") +
         page::labelled("Attempts", std::to_string(letter.attempts), "number") +
         page::labelled("Replayed", std::to_string(letter.replayed), "number") +
         page::labelled("Died", page::time_cell(letter.dead_at)) +
         page::labelled("Error", page::error_cell(letter.reason, letter.error, shows)) + "</tr>\n";
}

HttpResponse letters_page(const ApiCall& call, const ApiSources& sources) {
  if (auto refusal = refusal_of_empty(call)) return *std::move(refusal);
  auto query = letter_query(call, sources);
  if (!query) return std::move(query.error());
  if (const std::string_view after = call.value("after"); !after.empty()) {
    const auto number = whole_number(after);
    if (!number) return bad_request("after is not an id", "the link to the next page");
    query->after = *number;
  }
  return with_dead_letters(sources, [&](const operate::StoreAccess& access) {
    operate::LetterQuery rows = *query;
    rows.limit = kRowsOfPage;
    std::string table;
    const core::Disclosure shows = shown_in_lists(sources);
    const auto walk = operate::walk_letters(
        access, rows, [&](const DeadLetter& letter) { table += letter_row(letter, shows); });
    if (!walk) return problem(walk.error());
    operate::LetterQuery all = *query;
    all.after = 0;
    all.settled = true;
    all.foresees = true;
    all.foreign = false;
    all.limit = std::numeric_limits<std::size_t>::max();
    // The buttons must not cover letters that die after this page was made.
    const auto last = operate::last_letter(access);
    if (!last) return problem(last.error());
    all.up_to = *last;
    const auto plan = operate::group_letters(access, all, 1);
    if (!plan) return problem(plan.error());
    const std::string selection =
        operate::printable(operate::query_text(*query, call.value("where")), kSelectionShown);
    std::string main = plan_section(call, *plan, selection, *last);
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
    return page::html_answer(
        200, page::frame("dead letters", main + "</section>\n", page::Refreshes::kNever));
  });
}

std::string job_buttons(const ApiCall& call, const JobView& job) {
  const bool may = call.has(core::Role::kOperator);
  if (is_over(job.state) || !may) return {};
  const std::string path = fmt::format("api/v1/jobs/{}/", job.id);
  std::string made = "<p>";
  if (job.state == JobState::kPaused || job.state == JobState::kWaiting) {
    const bool discards = job.act == LetterAct::kDiscard;
    if (!discards || call.has(core::Role::kAdmin))
      made += page::button(path + "resume", "Resume", "");
  }
  if (job.state != JobState::kPaused) made += page::button(path + "pause", "Pause", "");
  made += page::button(path + "cancel", "Cancel", "End this job? What it has done stays done.");
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
      page::shown(job->selection, kTextOfRow), to_string(job->state),
      html(printable_text(shown_why(*job, shown_in_lists(sources)))));
  if (total > 0) {
    main += fmt::format("<progress max=\"{}\" value=\"{}\"></progress>\n", total, progress.taken());
  }
  main += fmt::format("<p>{} of {}: {}</p>\n", page::count_of(progress.taken()),
                      progress.total ? page::count_of(total) : "those being counted",
                      operate::progress_text(job->act, progress));
  if (!progress.last_error.empty()) {
    main += fmt::format("<p class=\"bad\">{}</p>\n",
                        page::error_cell({}, progress.last_error, shown_in_lists(sources)));
  }
  main += fmt::format("<p class=\"about\">Begun by {} at {}{}{}</p>\n", html(job->began_by),
                      page::time_cell(job->began_at),
                      job->rate.empty() ? "" : ", not faster than " + job->rate,
                      job->reason.empty() ? "" : ": " + page::shown(job->reason, kTextOfRow));
  main += job_buttons(call, *job) + "</section>\n";
  return page::html_answer(200, page::frame("job", main, page::Refreshes::kItself));
}

constexpr QueryParameter kPageParameters[] = {{"consumer", "string", {}},
                                              {"reason", "string", {}},
                                              {"replayed", "boolean", {}},
                                              {"where", "string", {}},
                                              {"after", "string", {}}};
constexpr QueryParameter kJobParameters[] = {{"id", "string", {}}};

constexpr Page kLetterPages[] = {
    {"/dead-letters", std::span(kPageParameters).first(4), groups_page},
    {"/letters", kPageParameters, letters_page},
    {"/job", kJobParameters, job_page}};

}  // namespace

std::span<const Page> letter_pages() noexcept { return kLetterPages; }

}  // namespace semel::admin
