#include <map>
#include <optional>
#include <string>
#include <tuple>

#include <fmt/format.h>

#include "base/listen_address.h"
#include "config/checks.h"
#include "config/node.h"
#include "core/nats_spec.h"
#include "core/rabbitmq_spec.h"
#include "core/sqs_spec.h"

namespace semel::config {
namespace {

// Refuses a setting that would make two consumers share messages that each should receive.
void refuse_shared(const Setting& setting, const std::string& what, const char* help,
                   Report& report) {
  auto& made = report.error("E028", setting.place, setting.path, setting.path + ": " + what);
  made.detail.push_back("each message would reach only one of them");
  made.help = help;
}

// The consumer that reads a topic in a group of a cluster.
using Groups = std::map<std::tuple<std::string, std::string, std::string>, std::string>;

void check_groups(const View& source, Groups& groups, Report& report) {
  const View kafka = source.in("kafka");
  const auto* group = kafka.find("group");
  if (!source.written("kafka") || group == nullptr) return;
  for (std::size_t i = 0; i < kafka.size("topics"); ++i) {
    const auto* topic = kafka.settings().find(join_path(kafka.path("topics"), i));
    if (topic == nullptr) continue;
    const auto [other, fresh] =
        groups.try_emplace({kafka.text("brokers"), group->text, topic->text}, kafka.path());
    if (fresh || other->second == kafka.path()) continue;
    refuse_shared(*group,
                  fmt::format("group {} reads topic {} for {} already", in_quotes(group->text),
                              in_quotes(topic->text), other->second),
                  "give each consumer a group of its own", report);
    return;
  }
}

// The broker and its vhost, in one form for all notations of a URL.
std::string broker_of(const std::string& url) {
  const auto address = core::read_amqp_url(url);
  return address ? address->place() + "/" + address->vhost : url;
}

// The consumer that reads a queue of a broker.
using QueueReaders = std::map<std::pair<std::string, std::string>, std::string>;

void check_queues(const View& source, QueueReaders& queues, Report& report) {
  const View rabbitmq = source.in("rabbitmq");
  const auto* queue = rabbitmq.find("queue");
  if (!source.written("rabbitmq") || queue == nullptr) return;
  const auto [other, fresh] =
      queues.try_emplace({broker_of(rabbitmq.text("url")), queue->text}, rabbitmq.path());
  if (fresh) return;
  refuse_shared(
      *queue,
      fmt::format("queue {} is consumed for {} already", in_quotes(queue->text), other->second),
      "give each consumer a queue of its own, bound to the same exchange", report);
}

// One queue has several URLs: Amazon has old and new host names, and other host names inside a VPC.
std::string place_of_queue(const std::string& url) {
  const auto read = core::read_sqs_url(url);
  if (!read) return url;
  std::string_view path = std::string_view(url).substr(url.find("://") + 3);
  path.remove_prefix(std::min(path.find('/'), path.size()));
  while (path.ends_with('/')) path.remove_suffix(1);
  return (read->region.empty() ? read->endpoint : read->region) + std::string(path);
}

void check_sqs_queues(const View& source, QueueReaders& queues, Report& report) {
  const auto* url = source.in("sqs").find("queue_url");
  if (!source.written("sqs") || url == nullptr) return;
  const auto [other, fresh] =
      queues.try_emplace({"sqs", place_of_queue(url->text)}, source.path("sqs"));
  if (fresh) return;
  refuse_shared(*url, fmt::format("the queue is read for {} already", other->second),
                "give each consumer a queue of its own; SNS can fill both", report);
}

// Readers of a durable consumer of a stream.
void check_durables(const View& source, QueueReaders& durables, Report& report) {
  const View nats = source.in("nats");
  const auto* durable = nats.find("durable");
  if (!source.written("nats") || durable == nullptr) return;
  const auto address = core::read_nats_url(nats.text("url"));
  const std::string where = address ? address->place() : nats.text("url");
  const auto [other, fresh] =
      durables.try_emplace({where + "/" + nats.text("stream"), durable->text}, nats.path());
  if (fresh) return;
  refuse_shared(
      *durable,
      fmt::format("durable {} of stream {} is read for {} already", in_quotes(durable->text),
                  in_quotes(nats.text("stream")), other->second),
      "give each consumer a durable of its own: each of them gets all messages", report);
}

// Maps each address to its listener, including the run's own.
using Listeners = std::map<std::string, std::string>;

void check_listener(const View& of, Listeners& listeners, Report& report) {
  const auto* listen = of.find("listen");
  if (listen == nullptr) return;
  const auto address = ListenAddress::parse(listen->text);
  // Port 0 means any free port, which is a different one each time.
  if (!address || address->port == 0) return;
  const auto [other, fresh] = listeners.try_emplace(address->text(), of.path());
  if (fresh) return;
  report
      .error(
          "E065", listen->place, listen->path,
          fmt::format("{}: {} listens on {} already", listen->path, other->second, address->text()))
      .help = "give each a port of its own";
}

void check_listeners(const Settings& settings, Report& report) {
  Listeners listeners;
  const View root(settings, "");
  if (root.written("admin")) check_listener(root.in("admin"), listeners, report);
  for (std::size_t i = 0; i < settings.size("consumers"); ++i) {
    const View source = View(settings, join_path("consumers", i)).in("source");
    if (source.written("http")) check_listener(source.in("http"), listeners, report);
  }
}

// Consumers by the stream and group that they read.
using StreamReaders = std::map<std::tuple<std::string, std::string, std::string>, std::string>;

void check_streams(const View& source, StreamReaders& readers, Report& report) {
  const View streams = source.in("redis_streams");
  const auto* group = streams.find("group");
  if (!source.written("redis_streams") || group == nullptr) return;
  const auto [other, fresh] = readers.try_emplace(
      {streams.text("url"), streams.text("stream"), group->text}, streams.path());
  if (fresh) return;
  refuse_shared(*group,
                fmt::format("group {} reads stream {} for {} already", in_quotes(group->text),
                            in_quotes(streams.text("stream")), other->second),
                "give each consumer a group of its own", report);
}

}  // namespace

void check_together(const Settings& settings, Report& report) {
  std::map<std::string, const Setting*> names;
  std::optional<std::string> reader;
  Groups groups;
  QueueReaders queues;
  check_listeners(settings, report);
  StreamReaders streams;
  QueueReaders durables;
  for (std::size_t i = 0; i < settings.size("consumers"); ++i) {
    const View view(settings, join_path("consumers", i));
    if (const auto* name = view.find("name")) {
      const auto [other, fresh] = names.emplace(name->text, name);
      if (!fresh) {
        auto& made = report.error("E025", name->place, name->path,
                                  fmt::format("two consumers are named {}", in_quotes(name->text)));
        made.detail.push_back("the other at " + report.spot(other->second->place));
        made.help = "a record belongs to (consumer, key): give each its own name";
      }
    }
    const auto source = view.in("source");
    check_groups(source, groups, report);
    check_queues(source, queues, report);
    check_durables(source, durables, report);
    check_streams(source, streams, report);
    check_sqs_queues(source, queues, report);
    if (!source.written("stdin")) continue;
    if (reader) {
      auto& made = report.error(
          "E026", source.place("stdin"), source.path("stdin"),
          fmt::format("{}: standard input is read by {} already", source.path("stdin"), *reader));
      made.detail.push_back("each line would reach only one of them");
      made.help = "source: { file: { path: … } }, which any number can read";
    } else {
      reader = view.path();
    }
  }
}

}  // namespace semel::config
