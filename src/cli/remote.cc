#include "cli/remote.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <set>

#include "base/ascii.h"
#include "base/json_scan.h"
#include "base/listen_address.h"
#include "base/time_text.h"
#include "cli/session.h"
#include "cli/text.h"

namespace semel::cli {

namespace {

constexpr std::size_t kLongestToken = 16 << 10;

// Members of the API's documents that contain times.
const std::set<std::string_view> kTimeMembers = {
    "completed_at", "dead_at", "first_seen",     "last_change", "lease_until", "newest",
    "next_at",      "oldest",  "oldest_waiting", "since",       "until"};

Result<std::string> token_of(const std::string& path) {
  if (path.empty()) return std::string();
  std::ifstream file(path, std::ios::binary);
  std::string token(kLongestToken, '\0');
  const bool opened = file.is_open();
  file.read(token.data(), static_cast<std::streamsize>(token.size()));
  token.resize(static_cast<std::size_t>(file.gcount()));
  const auto wrong = [&](const char* why) {
    return failure({ErrorKind::kRejected, "R361",
                    fmt::format("the token file {} {}", printable(path), why),
                    "a file with the secret of one of admin.auth.tokens, and nothing else"});
  };
  if (!opened || file.bad()) return wrong("cannot be read");
  while (!token.empty() && (token.back() == '\n' || token.back() == '\r')) token.pop_back();
  if (token.empty()) return wrong("is empty");
  if (token.size() >= kLongestToken || std::ranges::any_of(token, ascii::is_control)) {
    return wrong("holds more than a token");
  }
  return token;
}

// The address of the run that the config describes; of the usual one without a config.
std::string likely_url(const Console& console) {
  const auto path = found_config(console);
  const auto loaded = path ? config::load_file(*path, {}) : config::Loaded();
  if (!loaded.config || !loaded.config->admin) return "http://127.0.0.1:8585";
  const config::AdminConfig& admin = *loaded.config->admin;
  if (!admin.listen) return "unix:" + admin.socket->path;
  ListenAddress address = *admin.listen;
  const bool everywhere = address.host.empty() || address.host == "0.0.0.0" || address.host == "::";
  if (everywhere) address.host = "127.0.0.1";
  return (admin.tls ? "https://" : "http://") + address.text();
}

}  // namespace

OrEnded<Remote> Remote::open(Console& console) {
  const Settings& settings = console.settings();
  if (!settings.url) {
    return ended(console.fail(kUsage, "this command asks a run, and none is named",
                              fmt::format("--url {}, or SEMEL_URL", likely_url(console))));
  }
  auto url = api_client::RunUrl::parse(*settings.url);
  if (!url) return ended(console.fail(url.error()));
  auto token = token_of(settings.token_file);
  if (!token) return ended(console.fail(token.error()));
  if (!token->empty() && !url->encrypted && !url->loopback) {
    console.note("semel: the token goes to " + url->base + " in clear text: https:// hides it");
  }
  const std::string shown = url->text();
  auto client =
      api_client::RunClient::create({*std::move(url), *std::move(token), settings.ca_file});
  if (!client) return ended(console.fail(client.error()));
  return Remote(*std::move(client), shown);
}

Result<JsonView> Remote::get(std::string_view path) {
  auto document = client_->get(path);
  if (!document) return failure(std::move(document.error()));
  return JsonView(*document);
}

Result<JsonView> Remote::post(std::string_view path, const json::Writer& body) {
  auto document = client_->post(path, body.text());
  if (!document) return failure(std::move(document.error()));
  return JsonView(*document);
}

OrEnded<std::vector<std::string>> Remote::consumers(Console& console, const std::string& named) {
  const auto document = get("consumers");
  if (!document) return ended(console.fail(document.error()));
  std::vector<std::string> names;
  for (const JsonView& consumer : document->objects("consumers")) {
    names.push_back(consumer.text("name"));
  }
  if (named.empty()) return names;
  if (std::ranges::find(names, named) != names.end()) return std::vector{named};
  const auto near = nearest(named, names);
  return ended(console.fail(
      kUsage,
      fmt::format("there is no consumer \"{}\" in the run at {}", printable(named, 63), url_),
      near ? fmt::format("did you mean \"{}\"?", *near)
           : fmt::format("it has: {}", fmt::join(names, ", "))));
}

QueryText& QueryText::add(std::string_view name, std::string_view value) {
  if (value.empty()) return *this;
  text_ += fmt::format("{}{}={}", any_ ? "&" : "?", name, path_part(value));
  any_ = true;
  return *this;
}

bool is_missing(const Error& error) noexcept { return error.code == "R343"; }

std::string in_style(const std::string& document, const Console& console) {
  if (console.settings().time == TimeStyle::kIso) return json::compact(document);
  std::string made;
  json::Scan scan(document);
  const char* const end = document.data() + document.size();  // the terminating NUL
  std::string_view member;
  bool is_value = false;
  while (scan.at() != end) {
    if (scan.peek() != '"') {
      is_value = scan.peek() == ':';
      made += scan.peek();
      scan.step();
      if (scan.at() != end) scan.skip_space();
      continue;
    }
    const std::string_view quoted = scan.skip_value();
    const std::string_view inside = quoted.substr(1, quoted.size() - 2);
    const auto time =
        is_value && kTimeMembers.contains(member) ? parse_iso_time(inside) : std::nullopt;
    if (time) {
      json::append_quoted(made, console.time(*time));
    } else {
      made += quoted;
    }
    if (!is_value) member = inside;
    is_value = false;
    if (scan.at() != end) scan.skip_space();
  }
  return made;
}

void out_document(Console& console, const JsonView& document) {
  json::Writer writer;
  writer.embed(in_style(document.written(), console));
  console.out(writer);
}

}  // namespace semel::cli
