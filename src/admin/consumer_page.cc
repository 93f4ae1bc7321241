// The page about a consumer: its current work, the age of its duplicates compared with how long
// records are kept, the parts of its guarantee, and the reports of its sources.
#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "admin/age_picture.h"
#include "admin/chart.h"
#include "admin/html.h"
#include "admin/page_parts.h"
#include "admin/pages.h"
#include "admin/problem.h"
#include "base/number_text.h"
#include "base/printable.h"
#include "operate/words.h"

namespace semel::admin {

namespace {

constexpr std::size_t kNameOfPage = 80;
constexpr ChartSize kChartOfPage{1'080, 160};

std::string term(const char* name, const std::string& value) {
  return fmt::format("<dt>{}</dt><dd>{}</dd>\n", name, value);
}

std::string number_term(const char* name, const std::optional<std::size_t>& count,
                        const std::string& link = {}) {
  const std::string text = count ? page::count_of(*count) : "not known";
  if (link.empty() || count.value_or(0) == 0) return term(name, text);
  return term(name, fmt::format("<a href=\"{}\">{}</a>", html(link), text));
}

std::string now_section(const ConsumerOverview& one) {
  const char* const kind = one.state == "running"   ? "good"
                           : one.state == "failing" ? "bad"
                                                    : "note";
  std::string made = fmt::format(
      "<section aria-labelledby=\"now\"><h2 id=\"now\" class=\"key-title\">{}{}</h2>\n<p><span "
      "class=\"state {}\">{}</span>{}</p>\n<dl>\n",
      html(one.name),
      one.guarantee.empty() ? std::string()
                            : fmt::format(" <span class=\"badge\">{}</span>", html(one.guarantee)),
      kind, html(one.state),
      one.why.empty() ? std::string() : ": " + html(printable_text(one.why)));
  made += term(
      "Way", fmt::format("{} → {} → {}", html(one.source), html(one.strategy), html(one.handler)));
  made += term("In flight", page::count_of(one.in_flight));
  made += term(
      "Lag", one.lag ? page::count_of(static_cast<std::size_t>(std::max<std::int64_t>(*one.lag, 0)))
             : one.tells_lag ? "not known"
                             : "its source does not tell");
  const std::string letters = "letters?consumer=" + page::escaped(one.name);
  made += number_term("Retrying", one.retrying);
  made += number_term("Held", one.held);
  made += number_term("Parked", one.parked, "stuck?consumer=" + page::escaped(one.name));
  made += number_term("Dead letters", one.dead_letters, letters);
  if (one.oldest) made += term("Oldest waits", rough_duration(*one.oldest));
  made += "</dl>\n";
  if (!one.outages.empty()) {
    made += "<ul>\n";
    for (const telemetry::Outage& outage : one.outages) {
      made += fmt::format("<li class=\"bad\">{} away since {}: {}</li>\n", html(outage.component),
                          page::time_cell(outage.since), html(printable_text(outage.error)));
    }
    made += "</ul>\n";
  }
  return made + "</section>\n";
}

std::string deliveries_section(const ConsumerOverview& one) {
  const char* const words = span_of(one.intervals.size()).words;
  std::string made = fmt::format(
      "<section aria-labelledby=\"deliveries\"><h2 id=\"deliveries\">Deliveries a second, "
      "{}</h2>\n",
      words);
  const std::string chart =
      stacked_chart(one.intervals, kChartOfPage, fmt::format("deliveries by outcome, {}", words));
  if (chart.empty()) {
    return made + "<p class=\"empty\">The first figures come after ten seconds.</p></section>\n";
  }
  made += "<p class=\"legend\">";
  for (const char* group : {"done", "duplicate", "retry", "dead", "parked"}) {
    made += fmt::format("<span class=\"entry\"><span class=\"key {0}\"></span>{0}</span> ", group);
  }
  return made +
         fmt::format("<span class=\"scale\">top of the chart: {}/s</span></p>\n",
                     page::rate_text(scale_of(one.intervals))) +
         chart + "\n</section>\n";
}

std::string ages_section(const ConsumerOverview& one, const config::ConsumerConfig& consumer,
                         const ApiSources& sources) {
  std::string made =
      "<section aria-labelledby=\"ages\"><h2 id=\"ages\">Are records kept long enough?</h2>\n";
  if (!core::has_record(consumer.strategy)) {
    return made + fmt::format(
                      "<p class=\"empty\">Strategy {} keeps no records: nothing is "
                      "suppressed.</p></section>\n",
                      html(one.strategy));
  }
  const DuplicateAges seen =
      sources.duplicate_ages ? sources.duplicate_ages(one.name) : DuplicateAges();
  const auto ttl = config::effective_ttl(consumer);
  return made + fmt::format("<p class=\"story\">{}</p>\n", html(verdict_of(seen, ttl))) +
         age_picture(seen.ages, ttl) + "</section>\n";
}

std::string guarantee_section(const ConsumerOverview& one, const config::ConsumerConfig& consumer,
                              const ApiSources& sources) {
  // A C++ handler sets its own strategy, and thereby its guarantee.
  if (one.guarantee.empty()) return {};
  const Guarantee kept = sources.guarantee(consumer);
  std::string made =
      "<section aria-labelledby=\"guarantee\"><h2 id=\"guarantee\">What it guarantees</h2>\n<dl>\n";
  made += term("Effect", to_string(kept.effect)) + term("Loss", to_string(kept.loss));
  if (!kept.faults.empty()) made += term("Under", html(kept.faults));
  if (!kept.until.empty()) made += term("Until", html(kept.until));
  made += "</dl>\n";
  if (!kept.reasons.empty()) {
    made += "<p>What weakens it:</p><ul>\n";
    for (const std::string& reason : kept.reasons) {
      made += fmt::format("<li>{}</li>\n", html(reason));
    }
    made += "</ul>\n";
  }
  return made + fmt::format(
                    "<p class=\"about\"><code>semel explain {}</code> says more.</p>"
                    "</section>\n",
                    html(one.guarantee));
}

// A row for each partition and a column for each metric; metrics of the whole source come first.
std::string figures_table(const SourceReadiness& source) {
  std::vector<std::string> names, partitions;
  for (const SourceFigure& figure : source.figures) {
    if (std::ranges::find(names, figure.name) == names.end()) names.push_back(figure.name);
    if (std::ranges::find(partitions, figure.partition) == partitions.end()) {
      partitions.push_back(figure.partition);
    }
  }
  std::stable_partition(partitions.begin(), partitions.end(),
                        [](const std::string& one) { return one.empty(); });
  std::string made = fmt::format("<table class=\"plain\"><thead><tr><th scope=\"col\">{}</th>",
                                 html(source.source));
  for (const std::string& name : names) {
    made += fmt::format("<th class=\"number\" scope=\"col\">{}</th>", html(name));
  }
  made += "</tr></thead><tbody>\n";
  for (const std::string& partition : partitions) {
    made += fmt::format("<tr><th scope=\"row\">{}</th>",
                        partition.empty() ? "all of it" : html(printable_text(partition)));
    for (const std::string& name : names) {
      const auto found = std::ranges::find_if(source.figures, [&](const SourceFigure& one) {
        return one.name == name && one.partition == partition;
      });
      std::string value = "–";
      if (found != source.figures.end()) {
        value = std::to_string(found->value);
        if (!found->text.empty()) value += " " + html(printable_text(found->text));
      }
      made += page::labelled(html(name).c_str(), value, "number");
    }
    made += "</tr>\n";
  }
  return made + "</tbody></table>\n";
}

std::string sources_section(const std::string& name, const Readiness& readiness) {
  std::string made =
      "<section aria-labelledby=\"sources\"><h2 id=\"sources\">What its sources report</h2>\n";
  std::string tables;
  for (const ConsumerReadiness& consumer : readiness.consumers) {
    if (consumer.health.consumer != name) continue;
    for (const SourceReadiness& source : consumer.sources) {
      if (!source.figures.empty()) tables += figures_table(source);
    }
  }
  if (tables.empty()) {
    tables =
        "<p class=\"empty\">No figures. Sources of Kafka, NATS JetStream, Redis Streams, SQS and "
        "HTTP report some while they run.</p>\n";
  }
  return made + tables + "</section>\n";
}

std::string gate_section(const ApiCall& call, const ConsumerOverview& one,
                         const config::ConsumerConfig& consumer) {
  std::string made =
      "<section aria-labelledby=\"gate\"><h2 id=\"gate\">Pause, drain and resume</h2>\n";
  if (!call.has(core::Role::kOperator)) {
    return made +
           "<p class=\"empty\">To pause it needs a token of <code>admin.auth.tokens</code> with "
           "the "
           "role <code>operator</code>.</p></section>\n";
  }
  const bool drains = one.state == "draining" || one.state == "drained";
  const bool shut = one.state == "paused" || one.state == "breaker open";
  const std::string path = fmt::format("api/v1/consumers/{}/", page::escaped(one.name));
  made +=
      "<p class=\"with-script\" hidden><label>reason, for the audit log <input id=\"reason\" "
      "maxlength=\"1000\"></label></p>\n<p>";
  if (shut || drains) {
    made += page::button(path + "resume", "Resume", fmt::format("Let {} go on?", one.name));
  }
  if (one.state != "paused") {
    made += page::button(path + "pause", "Pause",
                         fmt::format("Pause {}? It begins no message in any process, also after a "
                                     "restart, until it is resumed.",
                                     one.name));
  }
  // A message read from stdin cannot be given back, so such a consumer cannot be drained.
  if (!drains && !std::holds_alternative<config::StdinSource>(consumer.source)) {
    made += page::button(path + "drain", "Drain",
                         fmt::format("Drain {}? This process finishes what it has of it and "
                                     "receives nothing more, until it is resumed or restarted.",
                                     one.name));
  }
  return made +
         "</p>\n<noscript><p>Without JavaScript: <code>semel consumers pause</code>, "
         "<code>drain</code> and <code>resume</code>, or the API with a token.</p></noscript>"
         "</section>\n";
}

HttpResponse consumer_page(const ApiCall& call, const ApiSources& sources) {
  const std::string name(call.value("name"));
  const Overview overview = sources.overview();
  const auto one = std::ranges::find(overview.consumers, name, &ConsumerOverview::name);
  const config::ConsumerConfig* const config = sources.config->find(name);
  if (one == overview.consumers.end() || config == nullptr) {
    return not_found(
        fmt::format("there is no consumer \"{}\"", operate::printable(name, kNameOfPage)),
        "the overview has their names");
  }
  const std::string main =
      now_section(*one) + deliveries_section(*one) + ages_section(*one, *config, sources) +
      guarantee_section(*one, *config, sources) + sources_section(name, sources.readiness()) +
      gate_section(call, *one, *config);
  return page::html_answer(200, page::frame("consumer", main, page::Refreshes::kItself));
}

constexpr QueryParameter kConsumerParameters[] = {{"name", "string", {}}};
constexpr Page kConsumerPages[] = {{"/consumer", kConsumerParameters, consumer_page}};

}  // namespace

std::span<const Page> consumer_pages() noexcept { return kConsumerPages; }

}  // namespace semel::admin
