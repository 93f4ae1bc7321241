#include "config/traces_build.h"

#include <fmt/format.h>

#include "config/http_build.h"
#include "config/node.h"
#include "config/secrets.h"
#include "config/store_build.h"
#include "core/http_spec.h"
#include "core/url_template.h"

namespace semel::config {
namespace {

// The default path for traces in OTLP over HTTP if the endpoint has none (OTLP specification).
constexpr std::string_view kTracesPath = "/v1/traces";

// The URL is the same for every span, so it cannot contain a part of a message.
bool has_places(const std::string& url) {
  const auto parsed = core::UrlTemplate::parse(url);
  return parsed && !parsed->places().empty();
}

std::string whole_url(std::string url) {
  const auto host = url.find("://") + 3;
  const auto path = url.find_first_of("/?", host);
  if (path == std::string::npos) return url + std::string(kTracesPath);
  if (url.substr(path) == "/") url.pop_back();
  return path >= url.size() ? url + std::string(kTracesPath) : url;
}

void build_endpoint(const View& traces, core::TracesSpec& made, Report& report) {
  const auto* otlp = traces.find("otlp");
  if (otlp == nullptr) return;
  auto flaw = core::url_flaw(otlp->text);
  if (!flaw && has_places(otlp->text)) flaw = "has a place for a part of a message";
  if (!flaw && core::url_has_credentials(otlp->text)) {
    flaw = "has a user or password, which belongs into headers";
  }
  if (!flaw) {
    made.url = whole_url(otlp->text);
    return;
  }
  auto& error =
      report.error("E056", otlp->place, otlp->path, fmt::format("{}: it {}", otlp->path, *flaw));
  error.excerpt.clear();
  error.help = "write http://host:4318 or https://host/path";
}

void warn_of_literals(const View& traces, Report& report) {
  if (!others_may_read(report.name(0))) return;
  const auto& settings = traces.settings();
  for (const auto& name : settings.names(traces.path("headers"))) {
    const auto* value = settings.find(join_path(traces.path("headers"), name.text));
    if (value == nullptr || !core::sounds_secret(name.text) || !is_literal(*value)) continue;
    warn_of_secret(*value, "a literal secret, in a file that others may read",
                   "${file:/run/secrets/…}, or chmod 600 " + report.name(0), report);
  }
}

}  // namespace

std::optional<core::TracesSpec> build_traces(const View& root, const std::string& folder,
                                             Report& report) {
  if (!root.written("traces")) return std::nullopt;
  const View traces = root.in("traces");
  core::TracesSpec made;
  traces.fill(made);
  build_endpoint(traces, made, report);
  if (!made.ca_file.empty()) made.ca_file = resolve_path(folder, made.ca_file);
  build_headers(traces, made.headers, report, core::export_header_flaw);
  warn_of_literals(traces, report);
  return made;
}

}  // namespace semel::config
