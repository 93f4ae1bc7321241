#include "config/rabbitmq_build.h"

#include <fmt/format.h>

#include "base/passwords.h"
#include "config/node.h"
#include "config/scalars.h"
#include "config/secrets.h"
#include "config/store_build.h"

namespace semel::config {
namespace {

void build_address(const View& rabbitmq, core::RabbitmqAccess& spec, Report& report) {
  const auto* url = rabbitmq.find("url");
  if (url == nullptr) return;
  auto read = core::read_amqp_url(url->text);
  if (read) {
    spec.address = *std::move(read);
    return;
  }
  auto& made = report.error("E014", url->place, url->path,
                            fmt::format("{}: the URL {}", url->path, read.error()));
  made.excerpt.clear();  // the excerpt may hold a password
  made.help = "write amqp://user:password@host:5672/vhost, or amqps:// with TLS";
}

void build_queue(const View& rabbitmq, core::RabbitmqSpec& spec, Report& report) {
  rabbitmq.fill(spec);
  const auto* type = rabbitmq.find("queue_type");
  if (type != nullptr && type->from == Setting::From::kWritten && !spec.declare) {
    report
        .error("E038", type->place, type->path,
               fmt::format("{}: without declare the queue is taken as it is", type->path))
        .help = "declare: true, or leave queue_type out";
  }
  const auto* queue = rabbitmq.find("queue");
  if (queue == nullptr) return;
  if (const auto flaw = core::rabbitmq_queue_flaw(queue->text, spec.declare)) {
    report
        .error("E014", queue->place, queue->path,
               fmt::format("{}: {} {}", queue->path, in_quotes(queue->text), *flaw))
        .help = "queue: orders";
  }
}

void build_tls(const View& rabbitmq, const std::string& folder, core::RabbitmqAccess& spec,
               Report& report) {
  const View tls = rabbitmq.in("tls");
  tls.fill(spec);
  for (std::string* file : {&spec.tls_ca, &spec.tls_cert, &spec.tls_key}) {
    if (!file->empty()) *file = resolve_path(folder, *file);
  }
  const auto refuse = [&](const char* name, const std::string& what, const char* help) {
    const auto* setting = tls.find(name);
    const auto place = setting != nullptr ? setting->place : rabbitmq.place("tls");
    report.error("E038", place, tls.path(name), tls.path(name) + what).help = help;
  };
  if (spec.tls_cert.empty() != spec.tls_key.empty()) {
    refuse(spec.tls_cert.empty() ? "key" : "cert", ": a certificate and its key go together",
           "tls: { cert: client.pem, key: client.key }");
  }
  const bool any = !spec.tls_ca.empty() || !spec.tls_cert.empty() || !spec.tls_key.empty();
  if (any && !spec.address.tls && !spec.address.nodes.empty()) {
    refuse(spec.tls_ca.empty() ? "cert" : "ca", ": the URL asks for no TLS",
           "url: amqps://host:5671, or leave tls out");
  }
}

void refuse_position(const View& view, Report& report) {
  const auto from = view.path("key.from");
  for (std::size_t i = 0; i < view.settings().size(from); ++i) {
    const auto* part = view.settings().find(join_path(from, i));
    if (part == nullptr || part->text != "position") continue;
    auto& made = report.error(
        "E029", part->place, part->path,
        fmt::format("{}: on RabbitMQ a position is a delivery tag, another one each time the "
                    "message comes",
                    part->path));
    made.help = "key: json:/your_id; header:NAME; cloudevents; or broker_key, its message-id";
  }
}

void warn_of_timeout(const ConsumerConfig& consumer, const View& view, Report& report) {
  const auto* timeout = view.find("timeout");
  if (timeout == nullptr || consumer.accept.contains("W044") ||
      consumer.timeout < core::kRabbitmqAckTimeout) {
    return;
  }
  auto& made = report.warning(
      "W044", timeout->place, timeout->path,
      fmt::format("{}: RabbitMQ closes a channel that holds a message for longer than its "
                  "consumer_timeout, which is usually {}",
                  timeout->path,
                  show_duration(std::chrono::milliseconds(core::kRabbitmqAckTimeout).count())));
  made.detail.push_back("all that was in flight there comes again then");
  made.help = "a shorter timeout; or raise consumer_timeout in rabbitmq.conf, and accept: [W044]";
}

}  // namespace

void build_rabbitmq_access(const View& rabbitmq, const std::string& folder,
                           core::RabbitmqAccess& access, Report& report) {
  build_address(rabbitmq, access, report);
  build_tls(rabbitmq, folder, access, report);
  rabbitmq.fill(access);
}

void warn_of_rabbitmq_password(const View& rabbitmq, Report& report) {
  const auto* url = rabbitmq.find("url");
  if (url == nullptr || url->place.source != 0 || !is_literal(*url) ||
      passwords_in(url->text).empty() || !others_may_read(report.name(0))) {
    return;
  }
  warn_of_secret(*url, "a literal password, in a file that others may read",
                 "${file:/run/secrets/…}, or chmod 600 " + report.name(0), report);
}

core::RabbitmqSpec build_rabbitmq(const View& rabbitmq, const std::string& folder, Report& report) {
  core::RabbitmqSpec made;
  build_rabbitmq_access(rabbitmq, folder, made, report);
  build_queue(rabbitmq, made, report);
  return made;
}

void check_rabbitmq(const ConsumerConfig& consumer, const View& view, Report& report) {
  if (!on_rabbitmq(consumer)) return;
  refuse_position(view, report);
  warn_of_timeout(consumer, view, report);
  if (!consumer.accept.contains("W031")) {
    warn_of_rabbitmq_password(view.in("source").in("rabbitmq"), report);
  }
}

}  // namespace semel::config
