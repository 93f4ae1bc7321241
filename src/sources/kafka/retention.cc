#include "sources/kafka/retention.h"

#include <fmt/format.h>
#include <librdkafka/rdkafka.h>

#include <array>
#include <charconv>
#include <cstdint>
#include <map>
#include <memory>
#include <string_view>

#include "sources/kafka/handles.h"

namespace semel::kafka {

using std::chrono::milliseconds;

namespace {

struct FreedAdmin {
  void operator()(rd_kafka_ConfigResource_t* resource) const noexcept {
    rd_kafka_ConfigResource_destroy(resource);
  }
  void operator()(rd_kafka_AdminOptions_t* options) const noexcept {
    rd_kafka_AdminOptions_destroy(options);
  }
};
using ResourcePtr = std::unique_ptr<rd_kafka_ConfigResource_t, FreedAdmin>;
using OptionsPtr = std::unique_ptr<rd_kafka_AdminOptions_t, FreedAdmin>;

struct Described {
  std::map<std::string, std::string, std::less<>> values;
  std::string why_not;  // there are none

  std::string_view value(std::string_view name) const {
    const auto found = values.find(name);
    return found == values.end() ? std::string_view() : std::string_view(found->second);
  }
};

Described values_of(const rd_kafka_ConfigResource_t* resource) {
  Described made;
  if (const auto code = rd_kafka_ConfigResource_error(resource);
      code != RD_KAFKA_RESP_ERR_NO_ERROR) {
    made.why_not = rd_kafka_err2str(code);
    return made;
  }
  std::size_t count = 0;
  const auto* entries = rd_kafka_ConfigResource_configs(resource, &count);
  for (std::size_t i = 0; i < count; ++i) {
    const char* value = rd_kafka_ConfigEntry_value(entries[i]);
    if (value != nullptr) made.values.emplace(rd_kafka_ConfigEntry_name(entries[i]), value);
  }
  return made;
}

Described describe(rd_kafka_t* handle, rd_kafka_ResourceType_t type, const std::string& name,
                   milliseconds patience) {
  const ResourcePtr resource(rd_kafka_ConfigResource_new(type, name.c_str()));
  const OptionsPtr options(rd_kafka_AdminOptions_new(handle, RD_KAFKA_ADMIN_OP_DESCRIBECONFIGS));
  const QueuePtr queue(rd_kafka_queue_new(handle));
  std::array<char, 256> why{};
  const int wait = static_cast<int>(patience.count());
  rd_kafka_AdminOptions_set_request_timeout(options.get(), wait, why.data(), why.size());
  rd_kafka_ConfigResource_t* asked = resource.get();
  rd_kafka_DescribeConfigs(handle, &asked, 1, options.get(), queue.get());
  const EventPtr event(rd_kafka_queue_poll(queue.get(), wait + 1'000));
  if (!event) return {{}, "no broker answered in time"};
  if (rd_kafka_event_error(event.get()) != RD_KAFKA_RESP_ERR_NO_ERROR) {
    return {{}, rd_kafka_event_error_string(event.get())};
  }
  std::size_t count = 0;
  const auto* resources = rd_kafka_DescribeConfigs_result_resources(
      rd_kafka_event_DescribeConfigs_result(event.get()), &count);
  return count == 1 ? values_of(resources[0]) : Described{{}, "the broker said nothing of it"};
}

std::optional<std::int64_t> number_in(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

Horizon unknown_of(const std::string& topic, std::string_view why) {
  return {std::nullopt,
          fmt::format("how long topic {} keeps its messages is not known: {}; so whether records "
                      "are kept as long is not either. Semel asks for retention.ms, which takes "
                      "the right DESCRIBE_CONFIGS on the topic",
                      topic, why),
          false};
}

// For ever, then not known, then the longest.
int rank_of(const Horizon& horizon) {
  if (!horizon.known) return 1;
  return horizon.longest ? 0 : 2;
}

bool outlasts(const Horizon& one, const Horizon& other) {
  if (rank_of(one) != rank_of(other)) return rank_of(one) > rank_of(other);
  return one.longest && other.longest && *one.longest > *other.longest;
}

// Any broker's: all have the same, where nobody has mixed them up.
std::string some_broker(rd_kafka_t* handle, milliseconds patience) {
  const int id = rd_kafka_controllerid(handle, static_cast<int>(patience.count()));
  return id < 0 ? std::string() : std::to_string(id);
}

}  // namespace

Horizon horizon_of(const std::string& topic, const std::string& retention_ms,
                   const std::string& cleanup_policy) {
  // compact,delete keeps no longer than delete alone.
  if (cleanup_policy.find("delete") == std::string::npos && !cleanup_policy.empty()) {
    return {std::nullopt, fmt::format("topic {} has cleanup.policy={}", topic, cleanup_policy)};
  }
  const auto number = number_in(retention_ms);
  if (!number) return unknown_of(topic, "the broker did not say it");
  const std::string said = fmt::format("topic {} has retention.ms={}", topic, *number);
  if (*number < 0) return {std::nullopt, said};
  return {milliseconds(*number), said};
}

BrokerRetention ask_retention(rd_kafka_s* handle, const std::vector<std::string>& topics,
                              milliseconds patience) {
  BrokerRetention made;
  bool first = true;
  for (const std::string& topic : topics) {
    const Described told = describe(handle, RD_KAFKA_RESOURCE_TOPIC, topic, patience);
    Horizon horizon = told.why_not.empty()
                          ? horizon_of(topic, std::string(told.value("retention.ms")),
                                       std::string(told.value("cleanup.policy")))
                          : unknown_of(topic, told.why_not);
    if (first || outlasts(horizon, made.horizon)) made.horizon = std::move(horizon);
    first = false;
  }
  const std::string broker = some_broker(handle, patience);
  if (broker.empty()) return made;
  const Described told = describe(handle, RD_KAFKA_RESOURCE_BROKER, broker, patience);
  if (const auto minutes = number_in(told.value("offsets.retention.minutes"))) {
    made.offsets = std::chrono::minutes(*minutes);
  }
  return made;
}

}  // namespace semel::kafka
