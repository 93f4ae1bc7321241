#include "compose/code_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>
#include <variant>

#include "base/overloaded.h"

namespace semel::compose {

namespace {

// A map without members, as a config file writes it.
constexpr std::string_view kNoMembers = "{}";

class ValueList {
 public:
  explicit ValueList(std::string path) : path_(std::move(path)) {}

  // Leaves out an empty value: its default applies, or the config check finds it missing.
  void add(std::string_view name, std::string_view value) {
    if (!value.empty()) values_.push_back(fmt::format("{}.{}={}", path_, name, value));
  }
  void add(std::string_view name, const std::vector<std::string>& items) {
    for (std::size_t i = 0; i < items.size(); ++i) {
      values_.push_back(fmt::format("{}.{}[{}]={}", path_, name, i, items[i]));
    }
  }
  void append(std::vector<std::string> more) {
    std::ranges::move(more, std::back_inserter(values_));
  }
  std::vector<std::string> take() { return std::move(values_); }

 private:
  const std::string path_;
  std::vector<std::string> values_;
};

}  // namespace

std::vector<std::string> values_of(const ConsumerSource& source, const std::string& path,
                                   std::string_view own_name) {
  ValueList values(path);
  std::visit(Overloaded{[&](const FromQueue&) { values.add("queue", kNoMembers); },
                        [&](const FromStdin&) { values.add("stdin", kNoMembers); },
                        [&](const FromFile& file) {
                          values.add("file", kNoMembers);
                          values.add("file.path", file.path);
                        },
                        [&](const FromKafka& kafka) {
                          values.add("kafka", kNoMembers);
                          values.add("kafka.brokers", kafka.brokers);
                          values.add("kafka.group", kafka.group);
                          values.add("kafka.topics", kafka.topics);
                        },
                        [&](const FromRabbitmq& rabbitmq) {
                          values.add("rabbitmq", kNoMembers);
                          values.add("rabbitmq.url", rabbitmq.url);
                          values.add("rabbitmq.queue", rabbitmq.queue);
                        },
                        [&](const FromNats& nats) {
                          values.add("nats", kNoMembers);
                          values.add("nats.url", nats.url);
                          values.add("nats.stream", nats.stream);
                          values.add("nats.durable", nats.durable);
                        },
                        [&](const FromRedisStream& stream) {
                          values.add("redis_streams", kNoMembers);
                          values.add("redis_streams.url", stream.url);
                          values.add("redis_streams.stream", stream.stream);
                          values.add("redis_streams.group", stream.group);
                        },
                        [&](const FromSqs& sqs) {
                          values.add("sqs", kNoMembers);
                          values.add("sqs.queue_url", sqs.queue_url);
                        },
                        [&](const FromHttp& http) {
                          values.add("http", kNoMembers);
                          values.add("http.listen", http.listen);
                          values.add("http.path", http.path);
                        },
                        [&](const FromOwn&) { values.add("native", own_name); }},
             source);
  return values.take();
}

std::vector<std::string> values_of(const ConsumerOptions& consumer, std::size_t index) {
  const std::string path = fmt::format("consumers[{}]", index);
  ValueList values(path);
  values.add("name", consumer.name);
  values.append(values_of(consumer.source, path + ".source", consumer.name));
  std::vector<std::string> key = consumer.key;
  if (key.empty() && consumer.key_function) key.emplace_back("function");
  values.add("key.from", key);
  values.add("strategy", consumer.strategy);
  values.append(values_of(consumer.settings, path));
  return values.take();
}

std::vector<std::string> values_of(const ConfigValues& settings, const std::string& path) {
  std::vector<std::string> values;
  values.reserve(settings.size());
  for (const auto& [name, value] : settings) {
    values.push_back(fmt::format("{}{}{}={}", path, path.empty() ? "" : ".", name, value));
  }
  return values;
}

bool is_there(const Handler& handler) {
  return std::visit([](const auto& work) { return static_cast<bool>(work); }, handler);
}

config::StoreConfig store_config_of(RunnerStore store) {
  config::StoreConfig made;
  std::visit([&](auto& options) { made.kind = std::move(options); }, store);
  return made;
}

config::StoreConfig store_config_of(Store& store) {
  config::StoreConfig made;
  made.kind = config::OpenStore{&store};
  return made;
}

}  // namespace semel::compose
