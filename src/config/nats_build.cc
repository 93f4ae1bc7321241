#include "config/nats_build.h"

#include <fmt/format.h>

#include "config/node.h"
#include "config/secrets.h"
#include "config/store_build.h"

namespace semel::config {
namespace {

void build_nats_address(const View& nats, core::NatsAccess& access, Report& report) {
  const auto* url = nats.find("url");
  if (url == nullptr) return;
  auto read = core::read_nats_url(url->text);
  if (read) {
    access.address = *std::move(read);
    return;
  }
  auto& made = report.error("E014", url->place, url->path,
                            fmt::format("{}: the URL {}", url->path, read.error()));
  made.excerpt.clear();  // the excerpt may hold a password
  made.help = "write nats://user:password@host:4222, or tls:// with TLS";
}

void refuse_flaw(const View& nats, const char* name,
                 std::optional<std::string> (*flaw_of)(std::string_view), Report& report) {
  const auto* setting = nats.find(name);
  if (setting == nullptr || setting->from != Setting::From::kWritten) return;
  const auto flaw = flaw_of(setting->text);
  if (!flaw) return;
  report
      .error("E014", setting->place, setting->path,
             fmt::format("{}: {} {}", setting->path, in_quotes(setting->text), *flaw))
      .help = fmt::format("{}: orders", name);
}

// These settings are for a consumer that Semel makes.
void refuse_without_declare(const View& nats, const core::NatsSpec& spec, Report& report) {
  if (spec.declare) return;
  for (const char* name : {"subject", "ack_wait"}) {
    const auto* setting = nats.find(name);
    if (setting == nullptr || setting->from != Setting::From::kWritten) continue;
    report
        .error("E038", setting->place, setting->path,
               fmt::format("{}: without declare the consumer is taken as it is", setting->path))
        .help = fmt::format("declare: true, or leave {} out", name);
  }
}

}  // namespace

void build_nats_access(const View& nats, const std::string& folder, core::NatsAccess& access,
                       Report& report) {
  build_nats_address(nats, access, report);
  const View tls = nats.in("tls");
  nats.fill(access);
  tls.fill(access);
  for (std::string* file :
       {&access.tls_ca, &access.tls_cert, &access.tls_key, &access.credentials}) {
    if (!file->empty()) *file = resolve_path(folder, *file);
  }
  if (!access.token.empty() && !access.address.user.empty()) {
    report
        .error("E038", nats.place("token"), nats.path("token"),
               nats.path("token") + ": the URL has a user and a password already")
        .help = "one of both";
  }
  const auto refuse = [&](const char* name, const std::string& what, const char* help) {
    const auto* setting = tls.find(name);
    const auto place = setting != nullptr ? setting->place : nats.place("tls");
    report.error("E038", place, tls.path(name), tls.path(name) + what).help = help;
  };
  if (access.tls_cert.empty() != access.tls_key.empty()) {
    refuse(access.tls_cert.empty() ? "key" : "cert", ": a certificate and its key go together",
           "tls: { cert: client.pem, key: client.key }");
  }
  const bool any = !access.tls_ca.empty() || !access.tls_cert.empty() || !access.tls_key.empty();
  if (any && !access.address.tls && !access.address.nodes.empty()) {
    refuse(access.tls_ca.empty() ? "cert" : "ca", ": the URL asks for no TLS",
           "url: tls://host:4222, or leave tls out");
  }
}

core::NatsSpec build_nats(const View& nats, const std::string& folder, Report& report) {
  core::NatsSpec made;
  build_nats_access(nats, folder, made, report);
  nats.fill(made);
  refuse_flaw(nats, "stream", core::nats_name_flaw, report);
  refuse_flaw(nats, "durable", core::nats_name_flaw, report);
  refuse_flaw(nats, "subject", core::nats_subject_flaw, report);
  refuse_without_declare(nats, made, report);
  return made;
}

void warn_of_nats_secrets(const View& nats, const core::NatsAccess& access, Report& report) {
  const auto warn = [&](const char* name, const char* what) {
    const auto* setting = nats.find(name);
    if (setting == nullptr || setting->place.source != 0 || !is_literal(*setting) ||
        !others_may_read(report.name(0))) {
      return;
    }
    warn_of_secret(*setting, fmt::format("a literal {}, in a file that others may read", what),
                   "${file:/run/secrets/…}, or chmod 600 " + report.name(0), report);
  };
  if (!access.address.password.empty()) warn("url", "password");
  if (!access.token.empty()) warn("token", "token");
}

void check_nats(const ConsumerConfig& consumer, const View& view, Report& report) {
  if (!on_nats(consumer) || consumer.accept.contains("W031")) return;
  const auto& spec = std::get<NatsSource>(consumer.source).spec;
  warn_of_nats_secrets(view.in("source").in("nats"), spec, report);
}

}  // namespace semel::config
