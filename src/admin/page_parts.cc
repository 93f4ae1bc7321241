#include "admin/page_parts.h"

#include <cmath>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "admin/html.h"
#include "base/json.h"
#include "base/number_text.h"
#include "operate/views.h"
#include "operate/words.h"

namespace semel::admin::page {

namespace {

constexpr std::size_t kErrorShown = 160;

constexpr const char* kFrameScripts[] = {
    "<script src=\"act.js\" defer></script>",
    "<script src=\"page.js\" defer></script><script src=\"act.js\" defer></script>"};

constexpr std::pair<std::string_view, std::string_view> kLinks[] = {
    {"./", "overview"}, {"record", "records"}, {"stuck", "stuck"}, {"dead-letters", "dead letters"},
    {"live", "live"},   {"doctor", "doctor"},  {"audit", "audit"}};

std::string member_of_problem(const json::Document& document, const char* pointer) {
  const auto found = document.at(json::Pointer::parse(pointer).value());
  const auto* text = found ? std::get_if<std::string>(&*found) : nullptr;
  return text == nullptr ? std::string() : *text;
}

std::string button_with(const std::string& path, const char* word, const std::string& question,
                        const std::string& data) {
  return fmt::format(
      "<button type=\"button\" hidden data-post=\"{}\" data-question=\"{}\"{}>{}</button> ",
      html(path), html(question), data, word);
}

}  // namespace

std::string navigation(std::string_view current) {
  std::string made = "<nav aria-label=\"pages\">";
  for (const auto& [path, name] : kLinks) {
    made += fmt::format("<a href=\"{}\"{}>{}</a> ", path,
                        name == current ? " aria-current=\"true\"" : "", name);
  }
  return made + "</nav>";
}

std::string refresh_choice(Refreshes refreshes) {
  const bool often = refreshes == Refreshes::kOften;
  return fmt::format(
      "<p class=\"refresh\" hidden><label>refresh every <select id=\"every\"><option "
      "value=\"2\"{}>2 s</option><option value=\"10\"{}>10 s</option><option value=\"60\">1 "
      "min</option><option value=\"0\">never</option></select></label></p>",
      often ? " selected" : "", often ? "" : " selected");
}

std::string frame(std::string_view title, const std::string& main, Refreshes refreshes) {
  const bool itself = refreshes != Refreshes::kNever;
  return fmt::format(
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">"
      "<title>{0} - Semel</title><link rel=\"stylesheet\" href=\"style.css\">"
      "<link rel=\"icon\" href=\"data:,\">{1}<script src=\"keys.js\" defer></script></head><body>\n"
      "<header><h1><a href=\"./\">Semel</a></h1><p role=\"status\">{0}</p>{2}{4}</header>\n"
      "<main>\n{3}</main>\n<footer>press <kbd>?</kbd> for the keys</footer>\n</body></html>\n",
      html(title), kFrameScripts[itself ? 1 : 0],
      itself ? refresh_choice(refreshes) : std::string(), main, navigation(title));
}

HttpResponse html_answer(int status, std::string body) {
  return {status, "text/html; charset=utf-8", std::move(body), {}};
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

std::string time_text(UtcTime time) {
  constexpr std::size_t kDate = 10;
  constexpr std::size_t kToSeconds = 19;
  std::string text = iso_time(time);
  if (text.size() > kToSeconds && text[kDate] == 'T') {
    text[kDate] = ' ';
    text.resize(kToSeconds);
  }
  return text;
}

std::string labelled(const char* label, const std::string& value, const char* kind) {
  return fmt::format("<td class=\"{}\" data-label=\"{}\">{}</td>", kind, label, value);
}

std::string time_cell(UtcTime time) {
  return fmt::format("<time datetime=\"{0}\" title=\"{0}\">{1}</time>", iso_time(time),
                     time_text(time));
}

std::string count_of(std::size_t count) { return grouped_digits(count, ','); }

std::string shown(BytesView text, std::size_t longest) {
  return html(operate::printable(text, longest));
}

std::string rate_text(double rate) {
  if (rate >= 100) return grouped_digits(static_cast<std::uint64_t>(std::llround(rate)), ',');
  constexpr double kShown = 0.05;
  if (rate == 0) return "0";
  return rate < kShown ? "under 0.1" : fmt::format("{:.1f}", rate);
}

std::string error_cell(std::string_view reason, std::string_view error,
                       const core::Disclosure& shows) {
  if (shows.errors == core::Disclosure::Errors::kText || error.empty()) {
    return shown(error, kErrorShown);
  }
  const std::string cause = operate::shown_error(reason, error, shows);
  const char* const rest = "<span class=\"unseen\">text not shown</span>";
  return cause.empty() ? rest : shown(cause, kErrorShown) + " " + rest;
}

std::string reason_line(std::string_view reason, std::string_view error,
                        const core::Disclosure& shows) {
  if (reason.empty() && error.empty()) return {};
  std::string text = shown(reason, kErrorShown);
  if (!error.empty()) {
    if (!reason.empty()) text += ": ";
    text += error_cell(reason, error, shows);
  }
  return fmt::format("<span class=\"about\">{}</span>", text);
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

std::string record_link(std::string_view consumer, BytesView key) {
  return fmt::format("record?consumer={}&key={}", escaped(consumer), escaped(key));
}

std::string consumer_link(std::string_view name) {
  return fmt::format("consumer?name={}", escaped(name));
}

std::string button(const std::string& path, const char* word, const std::string& question,
                   std::string_view as) {
  return button_with(path, word, question,
                     as.empty() ? std::string() : fmt::format(" data-as=\"{}\"", html(as)));
}

std::string job_button(const std::string& path, const char* word, const std::string& question,
                       std::int64_t up_to) {
  return button_with(path, word, question, fmt::format(" data-up-to=\"{}\"", up_to));
}

std::string edit_button(const std::string& path, const char* word, const std::string& question,
                        std::string_view revision, bool replay) {
  return button_with(
      path, word, question,
      fmt::format(" data-revision=\"{}\"{}", revision, replay ? " data-replay=\"true\"" : ""));
}

}  // namespace semel::admin::page
