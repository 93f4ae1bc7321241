#include "sources/kafka/retention.h"

#include <fmt/format.h>
#include <librdkafka/rdkafka.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <map>
#include <memory>
#include <string_view>
#include <utility>

#include "clients/kafka/handles.h"

namespace semel::kafka {

using std::chrono::milliseconds;

namespace {

// The time that librdkafka itself may take beyond the given one.
constexpr int kMore = 1'000;
// Brokers allow any number. A longer time is taken for this one, which is a valid `ttl`.
constexpr milliseconds kLongest = std::chrono::hours(24) * 36'500;

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
  std::string why_not;  // the reason why there are none

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

// Returns one description for each name, in the same order.
std::vector<Described> describe(rd_kafka_t* handle, rd_kafka_ResourceType_t type,
                                const std::vector<std::string>& names, milliseconds patience) {
  const auto nothing = [&](const std::string& why) {
    return std::vector<Described>(names.size(), Described{{}, why});
  };
  std::vector<ResourcePtr> resources;
  std::vector<rd_kafka_ConfigResource_t*> asked;
  for (const std::string& name : names) {
    resources.emplace_back(rd_kafka_ConfigResource_new(type, name.c_str()));
    asked.push_back(resources.back().get());
  }
  const OptionsPtr options(rd_kafka_AdminOptions_new(handle, RD_KAFKA_ADMIN_OP_DESCRIBECONFIGS));
  const QueuePtr queue(rd_kafka_queue_new(handle));
  std::array<char, 256> why{};
  const int wait = static_cast<int>(patience.count());
  rd_kafka_AdminOptions_set_request_timeout(options.get(), wait, why.data(), why.size());
  rd_kafka_DescribeConfigs(handle, asked.data(), asked.size(), options.get(), queue.get());
  const EventPtr event(rd_kafka_queue_poll(queue.get(), wait + kMore));
  if (!event) return nothing("no broker answered in time");
  if (rd_kafka_event_error(event.get()) != RD_KAFKA_RESP_ERR_NO_ERROR) {
    return nothing(rd_kafka_event_error_string(event.get()));
  }
  std::size_t count = 0;
  const auto* told = rd_kafka_DescribeConfigs_result_resources(
      rd_kafka_event_DescribeConfigs_result(event.get()), &count);
  std::vector<Described> made = nothing("the broker did not report it");
  for (std::size_t i = 0; i < count; ++i) {
    const auto found = std::ranges::find(names, rd_kafka_ConfigResource_name(told[i]));
    if (found != names.end()) {
      made[static_cast<std::size_t>(found - names.begin())] = values_of(told[i]);
    }
  }
  return made;
}

std::optional<std::int64_t> number_in(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

Horizon unknown_of(const std::string& topic, std::string_view setting, std::string_view why) {
  return {std::nullopt,
          fmt::format("how long topic {} keeps its messages is not known: {}; so whether records "
                      "are kept as long is not either. Semel asks for {}, which takes the right "
                      "DESCRIBE_CONFIGS on the topic",
                      topic, why, setting),
          false};
}

}  // namespace

Horizon horizon_of(const std::string& topic, const TopicSettings& settings) {
  const std::string& policy = settings.cleanup_policy;
  if (policy.find("delete") == std::string::npos && !policy.empty()) {
    return {std::nullopt, fmt::format("topic {} has cleanup.policy={}", topic, policy)};
  }
  const auto retention = number_in(settings.retention_ms);
  if (!retention) return unknown_of(topic, "retention.ms", "the broker did not report it");
  const std::string said = fmt::format("topic {} has retention.ms={}", topic, *retention);
  if (*retention < 0) return {std::nullopt, said};
  const auto kept = std::min(milliseconds(*retention), kLongest);
  const auto segment = number_in(settings.segment_ms);
  if (!segment || *segment < 0) {
    Horizon made = unknown_of(topic, "segment.ms", "the broker did not report it");
    made.longest = kept;
    made.said = said + "; " + made.said;
    return made;
  }
  return {std::min(kept + std::min(milliseconds(*segment), kLongest), kLongest),
          fmt::format("{} plus segment.ms={}", said, *segment)};
}

Horizon longest_of(const std::vector<Horizon>& topics) {
  const Horizon* longest = nullptr;
  const Horizon* unknown = nullptr;
  for (const Horizon& one : topics) {
    if (one.known && !one.longest) return one;
    if (!one.known) unknown = &one;
    if (one.longest && (longest == nullptr || *one.longest > *longest->longest)) longest = &one;
  }
  if (unknown == nullptr) return longest == nullptr ? Horizon{std::nullopt, {}, false} : *longest;
  if (longest == nullptr || longest == unknown) return *unknown;
  return {longest->longest, fmt::format("{}; {}", longest->said, unknown->said), false};
}

Horizon ask_horizon(rd_kafka_s* handle, const std::vector<std::string>& topics,
                    milliseconds patience) {
  const auto told = describe(handle, RD_KAFKA_RESOURCE_TOPIC, topics, patience);
  std::vector<Horizon> all;
  for (std::size_t i = 0; i < topics.size(); ++i) {
    all.push_back(told[i].why_not.empty()
                      ? horizon_of(topics[i], {std::string(told[i].value("retention.ms")),
                                               std::string(told[i].value("segment.ms")),
                                               std::string(told[i].value("cleanup.policy"))})
                      : unknown_of(topics[i], "retention.ms", told[i].why_not));
  }
  return longest_of(all);
}

std::optional<std::chrono::minutes> ask_offsets_retention(rd_kafka_s* handle,
                                                          milliseconds patience) {
  // Ask any broker: all have the same setting, unless someone has set them differently.
  const int broker = rd_kafka_controllerid(handle, static_cast<int>(patience.count()));
  if (broker < 0) return std::nullopt;
  const auto told = describe(handle, RD_KAFKA_RESOURCE_BROKER, {std::to_string(broker)}, patience);
  const auto minutes = number_in(told.front().value("offsets.retention.minutes"));
  if (!minutes) return std::nullopt;
  return std::chrono::minutes(*minutes);
}

}  // namespace semel::kafka
