#include "config/sqs_build.h"

#include <fmt/format.h>

#include "config/node.h"
#include "config/scalars.h"
#include "config/secrets.h"
#include "config/store_build.h"

namespace semel::config {
namespace {

void build_queue_url(const View& sqs, core::SqsAccess& spec, Report& report) {
  const auto* url = sqs.find("queue_url");
  if (url == nullptr) return;
  auto read = core::read_sqs_url(url->text);
  if (!read) {
    auto& made = report.error("E014", url->place, url->path,
                              fmt::format("{}: the URL {}", url->path, read.error()));
    made.help = "queue_url: https://sqs.eu-west-1.amazonaws.com/123456789012/orders";
    return;
  }
  spec.queue = *std::move(read);
  if (spec.region.empty()) spec.region = spec.queue.region;
  if (!spec.region.empty()) return;
  report
      .error("E038", url->place, sqs.path("region"),
             fmt::format("{}: the host {} names no region, and requests are signed for one",
                         sqs.path("region"), spec.queue.host))
      .help = "region: eu-west-1; a server of your own takes any";
}

}  // namespace

void build_sqs_keys(const View& sqs, core::SqsAccess& spec, Report& report) {
  const View keys = sqs.in("credentials");
  keys.fill(spec.keys);
  if (!sqs.written("credentials")) return;
  const auto refuse = [&](const std::string& what) {
    report
        .error("E038", sqs.place("credentials"), sqs.path("credentials"),
               fmt::format("{}: {}", sqs.path("credentials"), what))
        .help =
        "credentials: { access_key_id: ${ID}, secret_access_key: ${file:/run/secrets/aws} }";
  };
  if (spec.keys.access_key_id.empty() || spec.keys.secret_access_key.empty()) {
    refuse("an access key has an id and a secret");
  } else if (!spec.profile.empty()) {
    refuse("a profile has its own; one of the two");
  }
}

void build_sqs_access(const View& sqs, const std::string& folder, core::SqsAccess& access,
                      Report& report) {
  sqs.fill(access);
  if (!access.ca_file.empty()) access.ca_file = resolve_path(folder, access.ca_file);
  build_queue_url(sqs, access, report);
  build_sqs_keys(sqs, access, report);
}

core::SqsSpec build_sqs(const View& sqs, const std::string& folder, Report& report) {
  core::SqsSpec made;
  build_sqs_access(sqs, folder, made, report);
  sqs.fill(made);
  return made;
}

std::optional<core::Order> order_of_sqs(const SourceConfig& source) {
  const auto* sqs = std::get_if<SqsSource>(&source);
  if (sqs == nullptr || !sqs->spec.queue.fifo()) return std::nullopt;
  core::Order made;
  made.key = core::KeyPart::parse("header:sqs-message-group-id").value();
  return made;
}

void check_sqs(const ConsumerConfig& consumer, const View& view, Report& report) {
  if (!std::holds_alternative<SqsSource>(consumer.source) || consumer.accept.contains("W031")) {
    return;
  }
  warn_of_sqs_secrets(view.in("source").in("sqs"), report);
}

void warn_of_sqs_secrets(const View& sqs, Report& report) {
  const auto* secret = sqs.in("credentials").find("secret_access_key");
  if (secret == nullptr || secret->place.source != 0 || !is_literal(*secret) ||
      !others_may_read(report.name(0))) {
    return;
  }
  warn_of_secret(*secret, "a literal secret, in a file that others may read",
                 "${file:/run/secrets/…}, or chmod 600 " + report.name(0), report);
}

}  // namespace semel::config
