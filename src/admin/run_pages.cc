// The pages about the whole run: the doctor's report and the audit log.
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include <fmt/format.h>
#include <semel/admin/audit.h>

#include "admin/api_number.h"
#include "admin/api_store.h"
#include "admin/html.h"
#include "admin/page_parts.h"
#include "admin/pages.h"
#include "admin/problem.h"
#include "base/json.h"
#include "base/printable.h"

namespace semel::admin {

namespace {

constexpr std::size_t kRowsOfAudit = 50;
constexpr std::size_t kAuditText = 200;
constexpr int kForbidden = 403;

HttpResponse needs_role(const char* title, core::Role role) {
  HttpResponse made = page::html_answer(
      kForbidden,
      page::frame(title,
                  fmt::format("<section><h2>This page needs the role {0}</h2><p>A token of "
                              "<code>admin.auth.tokens</code> with <code>role: {0}</code> opens "
                              "it.</p></section>\n",
                              core::to_string(role)),
                  page::Refreshes::kNever));
  return made;
}

std::string text_of(const json::Document& document, const std::string& pointer) {
  const auto found = document.at(json::Pointer::parse(pointer).value());
  const auto* text = found ? std::get_if<std::string>(&*found) : nullptr;
  return text == nullptr ? std::string() : *text;
}

bool is_there(const json::Document& document, const std::string& pointer) {
  const auto found = document.at(json::Pointer::parse(pointer).value());
  return found && !std::holds_alternative<json::Absent>(*found);
}

std::string check_row(const json::Document& report, const std::string& at) {
  const std::string grade = text_of(report, at + "/grade");
  const char* const kind = grade == "ok" ? "good" : grade == "fail" ? "bad" : "note";
  const std::string fix = text_of(report, at + "/fix");
  return fmt::format("<tr><th scope=\"row\">{}</th>", html(text_of(report, at + "/code"))) +
         page::labelled("Grade",
                        fmt::format("<span class=\"state {}\">{}</span>", kind, html(grade))) +
         page::labelled("Finding", html(printable_text(text_of(report, at + "/text")))) +
         page::labelled("Fix", fix.empty() ? "–" : html(printable_text(fix))) + "</tr>\n";
}

std::string lowered_list(const json::Document& report) {
  std::string made;
  for (std::size_t i = 0; is_there(report, fmt::format("/consumers/{}", i)); ++i) {
    const std::string at = fmt::format("/consumers/{}", i);
    made +=
        fmt::format("<li>{}: <span class=\"badge\">{}</span>", html(text_of(report, at + "/name")),
                    html(text_of(report, at + "/guarantee")));
    for (std::size_t r = 0; is_there(report, fmt::format("{}/reasons/{}", at, r)); ++r) {
      made +=
          fmt::format("{} {}", r == 0 ? ", because" : ";",
                      html(printable_text(text_of(report, fmt::format("{}/reasons/{}", at, r)))));
    }
    made += "</li>\n";
  }
  return made.empty()
             ? made
             : "<p>With these results, the consumers guarantee:</p><ul>\n" + made + "</ul>\n";
}

std::string report_section(const std::string& json_report) {
  json::Document report;
  if (!report.parse(json_report)) return "<p class=\"bad\">The report cannot be read.</p>\n";
  std::string made =
      fmt::format("<p>Asked {}.</p>\n", html(printable_text(text_of(report, "/store"))));
  std::string rows;
  for (std::size_t i = 0; is_there(report, fmt::format("/checks/{}", i)); ++i) {
    rows += check_row(report, fmt::format("/checks/{}", i));
  }
  if (rows.empty()) {
    made += "<p class=\"empty\">It found nothing to check.</p>\n";
  } else {
    made +=
        "<table class=\"plain\"><thead><tr><th scope=\"col\">Check</th><th "
        "scope=\"col\">Grade</th><th scope=\"col\">Finding</th><th "
        "scope=\"col\">Fix</th></tr></thead><tbody>\n" +
        rows + "</tbody></table>\n";
  }
  return made + lowered_list(report) +
         "<p class=\"about\"><code>semel explain CODE</code> says more about a check.</p>\n";
}

HttpResponse doctor_page(const ApiCall& call, const ApiSources& sources) {
  if (!call.has(core::Role::kOperator)) return needs_role("doctor", core::Role::kOperator);
  const std::string_view run = call.value("run");
  if (!run.empty() && run != "true") return bad_request("run can only be true", "doctor?run=true");
  std::string main =
      "<section aria-labelledby=\"doctor\"><h2 id=\"doctor\">Doctor</h2>\n<p>It compares what the "
      "live store and the brokers say with what the config promises. It claims a key in "
      "transactions "
      "that are undone, and asks each broker; it takes seconds.</p>\n<form action=\"doctor\" "
      "method=\"get\"><input type=\"hidden\" name=\"run\" value=\"true\"><button>Examine "
      "now</button></form>\n";
  if (run.empty()) {
    return page::html_answer(200,
                             page::frame("doctor", main + "</section>\n", page::Refreshes::kNever));
  }
  return with_store(sources, [&](const operate::StoreAccess& access) {
    const auto report = sources.doctor(access.store);
    if (!report) return problem(report.error());
    return page::html_answer(200,
                             page::frame("doctor", main + report_section(*report) + "</section>\n",
                                         page::Refreshes::kNever));
  });
}

std::string audit_row(const AuditEntry& entry) {
  return fmt::format("<tr><th scope=\"row\">{}<span class=\"about\">{}</span></th>",
                     html(printable_text(entry.action)), page::shown(entry.target, kAuditText)) +
         page::labelled("At", page::time_cell(entry.at)) +
         page::labelled("Who", html(printable_text(entry.who)), "short") +
         page::labelled("Why", entry.reason.empty() ? "–" : page::shown(entry.reason, kAuditText)) +
         page::labelled("Outcome", entry.outcome
                                       ? page::shown(*entry.outcome, kAuditText)
                                       : "<span class=\"note\">nobody saw the end, or it goes "
                                         "on</span>") +
         page::labelled("Entry", std::to_string(entry.id), "number") + "</tr>\n";
}

HttpResponse audit_page(const ApiCall& call, const ApiSources& sources) {
  if (!call.has(core::Role::kAdmin)) return needs_role("audit", core::Role::kAdmin);
  std::optional<std::int64_t> before;
  if (const std::string_view asked = call.value("before"); !asked.empty()) {
    before = whole_number(asked);
    if (!before) return bad_request("before is not an id", "the link to the older ones");
  }
  return with_store(sources, [&](const operate::StoreAccess& access) {
    if (access.facets.audit == nullptr) return not_found("this store keeps no audit log");
    const auto entries = access.facets.audit->list(before, kRowsOfAudit);
    if (!entries) return problem(entries.error());
    std::string main = "<section aria-labelledby=\"audit\"><h2 id=\"audit\">What people did</h2>\n";
    if (entries->empty()) {
      main +=
          "<p class=\"empty\">Nobody did anything through the API or these pages yet. Commands "
          "that open the store leave no entry.</p>\n";
    } else {
      main +=
          "<table class=\"plain\"><thead><tr><th scope=\"col\">Act</th><th "
          "scope=\"col\">At</th><th scope=\"col\">Who</th><th scope=\"col\">Why</th><th "
          "scope=\"col\">Outcome</th><th class=\"number\" "
          "scope=\"col\">Entry</th></tr></thead><tbody>\n";
      for (const AuditEntry& entry : *entries) main += audit_row(entry);
      main += "</tbody></table>\n";
    }
    if (entries->size() == kRowsOfAudit) {
      main +=
          fmt::format("<p><a href=\"audit?before={}\">Older ones</a></p>\n", entries->back().id);
    }
    return page::html_answer(200,
                             page::frame("audit", main + "</section>\n", page::Refreshes::kItself));
  });
}

constexpr QueryParameter kDoctorParameters[] = {{"run", "string", {}}};
constexpr QueryParameter kAuditPageParameters[] = {{"before", "string", {}}};
constexpr Page kRunPages[] = {
    {"/doctor", kDoctorParameters, doctor_page, true, Api::kDoctorPatience, true},
    {"/audit", kAuditPageParameters, audit_page}};

}  // namespace

std::span<const Page> run_pages() noexcept { return kRunPages; }

}  // namespace semel::admin
