#include "config/http_build.h"

#include <utility>
#include <vector>

#include <fmt/format.h>

#include "config/node.h"
#include "config/secrets.h"
#include "config/store_build.h"

namespace semel::config {
namespace {

// Removes the excerpt, which would show a line with a secret.
void without_excerpt(Diagnostic& made, std::string help) {
  made.excerpt.clear();
  made.help = std::move(help);
}

void check_url(const Setting& url, Report& report) {
  const auto flaw = core::url_flaw(url.text);
  if (!flaw) return;
  // Text after the place of a secret remains hidden.
  report
      .error("E050", url.place, url.path,
             url.secret ? fmt::format("{}: it {}", url.path, *flaw)
                        : fmt::format("{}: {} {}", url.path, in_quotes(url.text), *flaw))
      .help = "write http://host/path or https://host/path";
}

void check_places(const View& http, const std::vector<std::string>& answered, Report& report) {
  const auto* url = http.find("url");
  if (url == nullptr) return;
  const auto place = core::place_for_answer(url->text, answered);
  if (!place) return;
  report
      .error("E050", url->place, url->path,
             fmt::format("{}: it has {}, and there is no such answer yet", url->path, *place))
      .help = answered.empty() ? "answers are those of the steps before, and in an undo its step's"
                               : fmt::format("there is: {}", fmt::join(answered, ", "));
}

void build_signing(const View& http, core::HttpSpec& spec, Report& report) {
  const auto list = http.in("signing").path("standard_webhooks");
  for (std::size_t i = 0; i < http.settings().size(list); ++i) {
    const auto* secret = http.settings().find(join_path(list, i));
    if (secret == nullptr) continue;
    if (!core::signing_key(secret->text)) {
      without_excerpt(
          report.error("E052", secret->place, secret->path,
                       fmt::format("{}: not whsec_ and base64 behind it", secret->path)),
          "take the secret as its other end shows it: whsec_…");
      continue;
    }
    spec.signing_secrets.push_back(secret->text);
  }
}

}  // namespace

void build_headers(const View& map, Headers& made, Report& report, HeaderFlaw flaw_of) {
  for (const auto& name : map.settings().names(map.path("headers"))) {
    const auto path = join_path(map.path("headers"), name.text);
    if (const auto flaw = flaw_of(name.text)) {
      report
          .error("E051", name.place, path,
                 fmt::format("{}: {} {}", map.path("headers"), in_quotes(name.text), *flaw))
          .help = "leave it out, or give it another name";
      continue;
    }
    const auto* value = map.settings().find(path);
    if (value == nullptr) continue;
    if (!core::is_header_value(value->text)) {
      without_excerpt(
          report.error("E051", value->place, path,
                       fmt::format("{}: its value has a line end or another control byte", path)),
          "write it in one line");
      continue;
    }
    made.push_back({name.text, value->text});
  }
}

core::HttpSpec build_http(const View& http, const std::string& folder, Report& report) {
  core::HttpSpec made;
  if (const auto* url = http.find("url")) check_url(*url, report);
  http.fill(made);
  if (!made.ca_file.empty()) made.ca_file = resolve_path(folder, made.ca_file);
  build_headers(http, made.headers, report, core::header_flaw);
  build_signing(http, made, report);
  return made;
}

void complete_http(ConsumerConfig& consumer, const View& view) {
  auto* http = std::get_if<HttpHandler>(&consumer.handler);
  if (http == nullptr) return;
  complete_call(http->spec, view.in("handler").in("http"), consumer);
  consumer.timeout = http->spec.timeout;
}

void complete_call(core::HttpSpec& spec, const View& http, const ConsumerConfig& consumer) {
  spec.consumer = consumer.name;
  spec.source = name_of(consumer.source);
  spec.timeout = http.find("timeout") != nullptr ? http.duration("timeout") : consumer.timeout;
  spec.response_limit = consumer.limits.result;
}

void check_http(const ConsumerConfig& consumer, const View& http,
                const std::vector<std::string>& answered, Report& report) {
  check_places(http, answered, report);
  if (consumer.accept.contains("W031")) return;
  const auto& settings = http.settings();
  const auto* url = http.find("url");
  if (url != nullptr && is_literal(*url) && core::url_has_credentials(url->text)) {
    warn_of_secret(*url, "a user or password stands in the URL, and is shown with it",
                   "headers: { Authorization: \"Basic ${file:…}\" }", report);
  }
  if (!others_may_read(report.name(0))) return;
  std::vector<const Setting*> secrets;
  for (const auto& name : settings.names(http.path("headers"))) {
    if (core::sounds_secret(name.text)) {
      secrets.push_back(settings.find(join_path(http.path("headers"), name.text)));
    }
  }
  const auto list = http.in("signing").path("standard_webhooks");
  for (std::size_t i = 0; i < settings.size(list); ++i) {
    secrets.push_back(settings.find(join_path(list, i)));
  }
  for (const Setting* secret : secrets) {
    if (secret == nullptr || !is_literal(*secret)) continue;
    warn_of_secret(*secret, "a literal secret, in a file that others may read",
                   "${file:/run/secrets/…}, or chmod 600 " + report.name(0), report);
  }
}

}  // namespace semel::config
