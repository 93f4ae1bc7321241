#include "config/difference.h"

#include <algorithm>
#include <map>
#include <utility>
#include <variant>

#include <fmt/format.h>

namespace semel::config {
namespace {

constexpr std::string_view kConsumers = "consumers[";
constexpr std::string_view kTokens = "admin.auth.tokens";
constexpr std::string_view kShown[] = {"admin.payloads", "admin.mask", "admin.errors"};

struct Shown {
  std::string value;
  std::string hidden;
  std::string origin = {};
  bool same_as(const Shown& other) const noexcept {
    return value == other.value && hidden == other.hidden;
  }
};
using Values = std::map<std::string, Shown>;

struct Parts {
  Values file;                              // of settings outside consumers
  std::map<std::string, Values> consumers;  // by name, without the consumer's own path
};

// "consumers[3].retry.attempts": 3 and "retry.attempts".
std::optional<std::pair<std::size_t, std::string>> in_consumer(const std::string& path) {
  if (!path.starts_with(kConsumers)) return std::nullopt;
  std::size_t index = 0;
  std::size_t at = kConsumers.size();
  for (; at < path.size() && path[at] != ']'; ++at) {
    index = index * 10 + static_cast<std::size_t>(path[at] - '0');
  }
  // After the bracket and the dot.
  return std::pair(index, at + 2 <= path.size() ? path.substr(at + 2) : std::string());
}

Parts parts_of(const Config& config) {
  Parts parts;
  // A kind may have no field of its own, and therefore no value in effect.
  parts.file["store"] = {std::string(traits_of(config.store).name), {}};
  for (const ConsumerConfig& consumer : config.consumers) {
    Values& values = parts.consumers[consumer.name];
    values["source"] = {std::string(name_of(consumer.source)), {}};
    values["handler"] = {std::string(name_of(consumer.handler)), {}};
  }
  for (const EffectiveValue& one : config.effective) {
    auto place = in_consumer(one.path);
    if (!place) {
      parts.file[one.path] = {one.value, one.hidden, one.origin};
    } else if (place->first < config.consumers.size()) {
      Values& values = parts.consumers[config.consumers[place->first].name];
      values[std::move(place->second)] = {one.value, one.hidden, one.origin};
    }
  }
  return parts;
}

std::vector<ValueChange> changes(const Values& running, const Values& next) {
  std::vector<ValueChange> made;
  for (const auto& [path, was] : running) {
    const auto is = next.find(path);
    if (is == next.end()) {
      made.push_back({path, was.value, std::nullopt, was.origin});
    } else if (!is->second.same_as(was)) {
      made.push_back({path, was.value, is->second.value, is->second.origin});
    }
  }
  for (const auto& [path, is] : next) {
    if (!running.contains(path)) made.push_back({path, std::nullopt, is.value, is.origin});
  }
  return made;
}

bool reads_stdin(const ConsumerConfig* consumer) noexcept {
  return consumer != nullptr && std::holds_alternative<StdinSource>(consumer->source);
}

// A message read from stdin has no other copy: a second reader would not get it again.
void keep_stdin(const Config& running, const ConsumerChange& change,
                std::vector<ValueChange>& fixed) {
  if (!reads_stdin(running.find(change.consumer))) return;
  const auto path = fmt::format("consumers.{}", change.consumer);
  if (change.kind == ConsumerChange::Kind::kRemoved) {
    fixed.push_back({path + ".source.stdin", "stdin", std::nullopt});
  }
  for (const ValueChange& value : change.values) {
    fixed.push_back({path + "." + value.path, value.from, value.to, value.origin});
  }
}

// True if both may be given the same message or need the same address: consumers with one group,
// one durable, one queue, one file or one listener. The embedded queue has messages for each name.
bool read_the_same(const SourceConfig& one, const SourceConfig& other) noexcept {
  if (one.index() != other.index()) return false;
  if (const auto* kafka = std::get_if<KafkaSource>(&one)) {
    const core::KafkaSpec& theirs = std::get<KafkaSource>(other).spec;
    return kafka->spec.group == theirs.group &&
           std::ranges::find_first_of(kafka->spec.topics, theirs.topics) !=
               kafka->spec.topics.end();
  }
  if (const auto* nats = std::get_if<NatsSource>(&one)) {
    const core::NatsSpec& theirs = std::get<NatsSource>(other).spec;
    return nats->spec.stream == theirs.stream && nats->spec.durable == theirs.durable;
  }
  if (const auto* rabbitmq = std::get_if<RabbitmqSource>(&one)) {
    return rabbitmq->spec.queue == std::get<RabbitmqSource>(other).spec.queue;
  }
  if (const auto* sqs = std::get_if<SqsSource>(&one)) {
    return sqs->spec.queue.url == std::get<SqsSource>(other).spec.queue.url;
  }
  if (const auto* http = std::get_if<HttpSource>(&one)) {
    const ListenAddress& theirs = std::get<HttpSource>(other).spec.listen;
    // A port on one address conflicts with the same port on all interfaces. If two addresses
    // differ, waiting for the other consumer is unnecessary but costs only a drain.
    return theirs.port != 0 && http->spec.listen.port == theirs.port;
  }
  if (const auto* streams = std::get_if<RedisStreamsSource>(&one)) {
    const core::RedisStreamsSpec& theirs = std::get<RedisStreamsSource>(other).spec;
    return streams->spec.stream == theirs.stream && streams->spec.group == theirs.group;
  }
  if (const auto* native = std::get_if<NativeSource>(&one)) {
    return native->name == std::get<NativeSource>(other).name;
  }
  if (const auto* file = std::get_if<FileSource>(&one)) {
    return file->spec.path == std::get<FileSource>(other).spec.path;
  }
  return std::holds_alternative<StdinSource>(one);
}

bool says_what_is_shown(std::string_view path) noexcept {
  return std::ranges::any_of(kShown, [&](std::string_view one) {
    return path == one || (path.starts_with(one) && path.substr(one.size()).starts_with('['));
  });
}

bool same_tokens(const Config& running, const Config& next) {
  const auto tokens = [](const Config& config) {
    return config.admin ? config.admin->tokens : std::vector<AdminToken>();
  };
  return tokens(running) == tokens(next);
}

}  // namespace

std::string_view to_string(ConsumerChange::Kind kind) noexcept {
  switch (kind) {
    case ConsumerChange::Kind::kAdded:
      return "added";
    case ConsumerChange::Kind::kChanged:
      return "changed";
    case ConsumerChange::Kind::kRemoved:
      break;
  }
  return "removed";
}

const ConsumerChange* Difference::find(std::string_view consumer) const noexcept {
  const auto found = std::ranges::find(consumers, consumer, &ConsumerChange::consumer);
  return found == consumers.end() ? nullptr : &*found;
}

bool hands_over(const Config& running, std::string_view from, const Config& next,
                std::string_view to) {
  const ConsumerConfig* const was = running.find(from);
  const ConsumerConfig* const comes = next.find(to);
  if (was == nullptr || comes == nullptr || !read_the_same(was->source, comes->source)) {
    return false;
  }
  const ConsumerConfig* const stays = next.find(from);
  return stays == nullptr || !read_the_same(stays->source, comes->source);
}

Difference difference(const Config& running, const Config& next) {
  using Kind = ConsumerChange::Kind;
  const Parts before = parts_of(running);
  const Parts after = parts_of(next);
  Difference made;
  for (const ConsumerConfig& consumer : next.consumers) {
    const auto was = before.consumers.find(consumer.name);
    if (was == before.consumers.end()) {
      made.consumers.push_back({consumer.name, Kind::kAdded, {}});
      continue;
    }
    auto values = changes(was->second, after.consumers.at(consumer.name));
    if (values.empty()) {
      made.unchanged.push_back(consumer.name);
    } else {
      made.consumers.push_back({consumer.name, Kind::kChanged, std::move(values)});
    }
  }
  for (const ConsumerConfig& consumer : running.consumers) {
    if (next.find(consumer.name) != nullptr) continue;
    made.consumers.push_back({consumer.name, Kind::kRemoved, {}});
  }
  made.tokens = !same_tokens(running, next);
  for (ValueChange& value : changes(before.file, after.file)) {
    if (value.path.starts_with(kTokens)) continue;
    if (says_what_is_shown(value.path)) {
      made.shown = true;
    } else {
      made.fixed.push_back(std::move(value));
    }
  }
  for (const ConsumerChange& change : made.consumers) keep_stdin(running, change, made.fixed);
  return made;
}

}  // namespace semel::config
