#include <algorithm>
#include <string>

#include <fmt/format.h>

#include "admin/chart.h"
#include "admin/html.h"
#include "admin/overview.h"
#include "admin/page_parts.h"
#include "base/number_text.h"
#include "base/printable.h"

namespace semel::admin {

namespace {

using std::chrono::milliseconds;
using telemetry::GroupCounts;
using telemetry::OutcomeGroup;

constexpr const char* kNothing = "–";
// The current rate is shown as the average of the last minute.
constexpr std::size_t kMinute = 6;
constexpr ChartSize kWide{1'080, 160};
constexpr ChartSize kSmall{180, 32};

std::string grouped(std::uint64_t number) { return grouped_digits(number, ','); }

double rate_now(const std::vector<GroupCounts>& intervals, std::optional<OutcomeGroup> group) {
  const std::size_t count = std::min(kMinute, intervals.size());
  if (count == 0) return 0;
  double sum = 0;
  for (std::size_t i = intervals.size() - count; i < intervals.size(); ++i) {
    GroupCounts one = intervals[i];
    for (std::size_t g = 0; group && g < one.size(); ++g) {
      if (g != static_cast<std::size_t>(*group)) one[g] = 0;
    }
    sum += rate_of(one);
  }
  return sum / static_cast<double>(count);
}

std::string phase_text(const std::string& phase) {
  return phase == "not_ready" ? "not ready" : phase;
}

std::string age_text(milliseconds age) {
  return age < std::chrono::seconds(1) ? "under 1 s" : rough_duration(age);
}

std::string count_text(std::optional<std::size_t> count) {
  return count ? grouped(*count) : kNothing;
}

std::string duplicates_text(const std::vector<GroupCounts>& intervals) {
  std::uint64_t all = 0, duplicates = 0;
  for (const GroupCounts& one : intervals) {
    for (const std::uint64_t count : one) all += count;
    duplicates += one[static_cast<std::size_t>(OutcomeGroup::kDuplicate)];
  }
  if (all == 0) return kNothing;
  return fmt::format("{:.1f} %", 100 * static_cast<double>(duplicates) / static_cast<double>(all));
}

// `label` is shown with the value if the table is laid out as a list of cards.
std::string cell(const char* label, const std::string& value, const char* kind = "number") {
  return fmt::format("<td class=\"{}\" data-label=\"{}\">{}</td>", kind, label, value);
}

std::string state_class(const std::string& state) {
  if (state == "running") return "good";
  return state == "failing" ? "bad" : "note";
}

std::string row(const ConsumerOverview& one) {
  const std::string chart = stacked_chart(
      one.intervals, kSmall,
      fmt::format("deliveries of {}, {}", one.name, span_of(one.intervals.size()).words));
  std::string made = "<tr>";
  const std::string badge =
      one.guarantee.empty() ? std::string()
                            : fmt::format(" <span class=\"badge\">{}</span>", html(one.guarantee));
  made += fmt::format(
      "<th scope=\"row\"><a href=\"{}\"><span class=\"name\">{}</span></a>{}"
      "<span class=\"about\">{} → {} → {}</span></th>",
      html(page::consumer_link(one.name)), html(one.name), badge, html(one.source),
      html(one.strategy), html(one.handler));
  made += cell(
      "State",
      fmt::format("<span class=\"state {}\">{}</span>", state_class(one.state), html(one.state)),
      "word");
  made += cell("Deliveries/s", page::rate_text(rate_now(one.intervals, std::nullopt)));
  made += cell("Duplicates", duplicates_text(one.intervals));
  made += cell("In flight", grouped(one.in_flight));
  made +=
      cell("Lag", one.lag ? grouped(static_cast<std::uint64_t>(std::max<std::int64_t>(*one.lag, 0)))
                          : kNothing);
  made += cell("Retrying", count_text(one.retrying));
  made += cell("Held", count_text(one.held));
  made += cell("Parked", count_text(one.parked));
  made += cell("Dead letters", count_text(one.dead_letters));
  made += cell("Oldest waits", one.oldest ? age_text(*one.oldest) : kNothing);
  made += cell("Trend", chart.empty() ? kNothing : chart, "spark");
  return made + "</tr>\n";
}

std::string troubles(const Overview& overview) {
  std::string made;
  for (const ConsumerOverview& one : overview.consumers) {
    for (const telemetry::Outage& outage : one.outages) {
      made += fmt::format("<li><strong>{}</strong>: {} away since {}: {}</li>\n", html(one.name),
                          html(outage.component), iso_time(outage.since),
                          html(printable_text(outage.error)));
    }
    if (!one.why.empty()) {
      made += fmt::format("<li><strong>{}</strong> is {}: {}</li>\n", html(one.name),
                          html(one.state), html(printable_text(one.why)));
    }
    if (one.dead_letters.value_or(0) > 0) {
      made += fmt::format(
          "<li><strong>{0}</strong> has <a href=\"dead-letters\">dead letters</a>: <code>semel dlq "
          "list --consumer {0}</code></li>\n",
          html(one.name));
    }
    if (one.parked.value_or(0) > 0) {
      made += fmt::format(
          "<li><strong>{0}</strong> has <a href=\"stuck?consumer={0}\">messages that wait for a "
          "person</a>: <code>semel records list --state parked --consumer {0}</code></li>\n",
          html(one.name));
    }
  }
  if (made.empty()) return {};
  return "<section aria-labelledby=\"look\"><h2 id=\"look\">Needs a look</h2><ul>\n" + made +
         "</ul></section>\n";
}

std::string throughput(const Overview& overview) {
  std::vector<std::vector<GroupCounts>> all;
  for (const ConsumerOverview& one : overview.consumers) all.push_back(one.intervals);
  const auto sum = sum_of(all);
  const char* const span = span_of(sum.size()).words;
  std::string made = fmt::format(
      "<section aria-labelledby=\"deliveries\"><h2 id=\"deliveries\">Deliveries a second, {}"
      "</h2>\n",
      span);
  if (sum.empty()) {
    return made + "<p class=\"empty\">The first figures come after ten seconds.</p></section>\n";
  }
  made += fmt::format(
      "<p class=\"legend\"><span class=\"entry\"><span class=\"key done\"></span>done {}</span> "
      "<span class=\"entry\"><span class=\"key duplicate\"></span>duplicate {}</span> "
      "<span class=\"entry\"><span class=\"key retry\"></span>retry {}</span> "
      "<span class=\"entry\"><span class=\"key dead\"></span>dead {}</span> "
      "<span class=\"entry\"><span class=\"key parked\"></span>parked {}</span> <span "
      "class=\"scale\">top of the chart: {}/s</span></p>\n",
      page::rate_text(rate_now(sum, OutcomeGroup::kDone)),
      page::rate_text(rate_now(sum, OutcomeGroup::kDuplicate)),
      page::rate_text(rate_now(sum, OutcomeGroup::kRetry)),
      page::rate_text(rate_now(sum, OutcomeGroup::kDead)),
      page::rate_text(rate_now(sum, OutcomeGroup::kParked)), page::rate_text(scale_of(sum)));
  return made + stacked_chart(sum, kWide, fmt::format("deliveries by outcome, {}", span)) +
         "\n</section>\n";
}

constexpr const char* kColumns =
    "<tr><th scope=\"col\">Consumer</th><th scope=\"col\">State</th><th "
    "scope=\"col\">Deliveries/s</th>"
    "<th scope=\"col\">Duplicates</th><th scope=\"col\">In flight</th><th "
    "scope=\"col\">Lag</th>"
    "<th scope=\"col\">Retrying</th><th scope=\"col\">Held</th><th scope=\"col\">Parked</th><th "
    "scope=\"col\">Dead letters</th><th scope=\"col\">Oldest waits</th><th "
    "scope=\"col\">Trend</th></tr>";

constexpr const char* kHead =
    "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">"
    "<title>Semel</title><link rel=\"stylesheet\" href=\"style.css\">"
    "<link rel=\"icon\" href=\"data:,\"><script src=\"page.js\" defer></script>"
    "<script src=\"keys.js\" defer></script></head><body>\n";

}  // namespace

std::string overview_page(const Overview& overview) {
  std::string page = kHead;
  page += fmt::format(
      "<header><h1>Semel</h1><p role=\"status\">{} on {}, version {}, up {}</p>"
      "{}{}</header>\n",
      html(phase_text(overview.phase)), html(overview.store), html(overview.version),
      age_text(overview.now - overview.began), page::refresh_choice(),
      page::navigation("overview"));
  page += "<main>\n" + troubles(overview) + throughput(overview);
  page += "<section aria-labelledby=\"consumers\"><h2 id=\"consumers\">Consumers</h2>\n";
  page += fmt::format("<table class=\"wide\"><thead>{}</thead><tbody>\n", kColumns);
  for (const ConsumerOverview& one : overview.consumers) page += row(one);
  page += "</tbody></table></section>\n";
  page += fmt::format("<p class=\"as-of\">As of <time>{}</time></p>\n</main>\n",
                      iso_time(overview.now));
  page +=
      "<footer><a href=\"metrics\">metrics</a> <a href=\"readyz\">readiness</a> press "
      "<kbd>?</kbd> for the keys</footer>\n"
      "</body></html>\n";
  return page;
}

}  // namespace semel::admin
