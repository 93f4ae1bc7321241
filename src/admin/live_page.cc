// The page about deliveries that ended in this process: the newest ones. The reader chooses how
// often the page refreshes.
#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "admin/html.h"
#include "admin/page_parts.h"
#include "admin/pages.h"
#include "admin/problem.h"
#include "admin/record_story.h"
#include "admin/shown.h"
#include "base/number_text.h"
#include "base/printable.h"
#include "operate/words.h"

namespace semel::admin {

namespace {

constexpr std::size_t kRowsOfLive = 100;
constexpr std::size_t kLiveKey = 60;
constexpr std::size_t kLiveName = 80;
constexpr std::array kLiveOutcomes = {Outcome::Kind::kDone,      Outcome::Kind::kDuplicate,
                                      Outcome::Kind::kBusy,      Outcome::Kind::kConflict,
                                      Outcome::Kind::kRetry,     Outcome::Kind::kDead,
                                      Outcome::Kind::kDiscarded, Outcome::Kind::kParked};

std::string live_key(const telemetry::EndedDelivery& one) {
  if (!one.id) return "no key";
  std::string text = page::shown(one.key, kLiveKey);
  // The rest of a key that was cut is not known here.
  if (one.key_is_cut) return text;
  return fmt::format("<a href=\"{}\">{}</a>", html(page::record_link(one.consumer, one.key)), text);
}

std::string took_text(const telemetry::EndedDelivery& one) {
  if (!one.took) return "–";
  return rough_duration(std::chrono::duration_cast<std::chrono::milliseconds>(*one.took));
}

std::string live_row(const telemetry::EndedDelivery& one, const core::Disclosure& shows) {
  std::string from = printable_text(one.partition);
  if (!one.position.empty()) from += " " + printable_text(one.position);
  return fmt::format("<tr><th scope=\"row\">{}<span class=\"about\">{}</span></th>", live_key(one),
                     html(one.consumer)) +
         page::labelled("At", page::time_cell(one.at)) +
         page::labelled("Outcome",
                        fmt::format("<span><span class=\"key {}\"></span>{}</span>",
                                    ending_kind(one.outcome), to_string(one.outcome)),
                        "short") +
         page::labelled("Why", fmt::format("<span>{}{}</span>", html(ending_text(one)),
                                           page::reason_line(one.reason, one.error, shows))) +
         page::labelled("From", html(from)) + page::labelled("Took", took_text(one), "number") +
         "</tr>\n";
}

std::string choice(const char* name, const std::string& options) {
  return fmt::format(
      "<label>{0} <select name=\"{0}\"><option value=\"\">any</option>{1}</select>"
      "</label> ",
      name, options);
}

std::string filter_form(const ApiSources& sources, std::string_view consumer,
                        std::string_view outcome) {
  const auto option = [](std::string_view text, bool chosen) {
    return fmt::format("<option{}>{}</option>", chosen ? " selected" : "", html(text));
  };
  std::string consumers, outcomes;
  for (const auto& one : sources.config->consumers) {
    consumers += option(one.name, one.name == consumer);
  }
  for (const Outcome::Kind kind : kLiveOutcomes) {
    outcomes += option(to_string(kind), to_string(kind) == outcome);
  }
  return fmt::format("<form action=\"live\" method=\"get\">{}{}<button>Show</button></form>\n",
                     choice("consumer", consumers), choice("outcome", outcomes));
}

std::optional<Outcome::Kind> kind_of(std::string_view word) {
  const auto found = std::ranges::find_if(
      kLiveOutcomes, [&](Outcome::Kind kind) { return to_string(kind) == word; });
  if (found == kLiveOutcomes.end()) return std::nullopt;
  return *found;
}

HttpResponse live_page(const ApiCall& call, const ApiSources& sources) {
  const std::string consumer(call.value("consumer"));
  const std::string_view outcome = call.value("outcome");
  if (!consumer.empty() && sources.config->find(consumer) == nullptr) {
    return not_found(
        fmt::format("there is no consumer \"{}\"", operate::printable(consumer, kLiveName)),
        "the overview has their names");
  }
  const auto kind = kind_of(outcome);
  if (!outcome.empty() && !kind) {
    return bad_request(
        fmt::format("outcome cannot be \"{}\"", operate::printable(outcome, kLiveName)),
        "done, duplicate, busy, conflict, retry, dead, discarded or parked");
  }
  std::string main =
      "<section aria-labelledby=\"live\"><h2 id=\"live\">Deliveries as they end</h2>\n" +
      filter_form(sources, consumer, outcome);
  std::string rows;
  if (sources.recent != nullptr) {
    const core::Disclosure shows = shown_in_lists(sources);
    for (const auto& one :
         sources.recent->find(kRowsOfLive, [&](const telemetry::EndedDelivery& ended) {
           return (consumer.empty() || ended.consumer == consumer) &&
                  (!kind || ended.outcome == *kind);
         })) {
      rows += live_row(*one, shows);
    }
  }
  if (rows.empty()) {
    main +=
        "<p class=\"empty\">Nothing has ended in this process, or nothing that matches. "
        "<code>semel send CONSUMER</code> sends a message; <code>semel tap CONSUMER</code> shows "
        "every process of this machine.</p>\n";
  } else {
    main +=
        "<table class=\"plain\"><thead><tr><th scope=\"col\">Key</th><th "
        "scope=\"col\">At</th><th scope=\"col\">Outcome</th><th scope=\"col\">Why</th><th "
        "scope=\"col\">From</th><th "
        "class=\"number\" scope=\"col\">Took</th></tr></thead><tbody>\n" +
        rows + "</tbody></table>\n";
  }
  if (sources.recent != nullptr && sources.recent->left_out() > 0) {
    main += fmt::format(
        "<p class=\"empty\">A sample: {} more ended since this process began, in seconds that had "
        "too many to keep.</p>\n",
        grouped_digits(sources.recent->left_out(), ','));
  }
  return page::html_answer(200,
                           page::frame("live", main + "</section>\n", page::Refreshes::kOften));
}

constexpr QueryParameter kLiveParameters[] = {{"consumer", "string", {}},
                                              {"outcome", "string", {}}};
constexpr Page kLivePages[] = {{"/live", kLiveParameters, live_page, true}};

}  // namespace

std::span<const Page> live_pages() noexcept { return kLivePages; }

}  // namespace semel::admin
