#include "tests/support/kafka_records.h"

#include <librdkafka/rdkafka.h>

#include <array>
#include <memory>
#include <stdexcept>

namespace semel::test {
namespace {

constexpr int kRecordPatience = 20'000;

struct Ended {
  void operator()(rd_kafka_t* handle) const { rd_kafka_destroy(handle); }
  void operator()(rd_kafka_message_t* message) const { rd_kafka_message_destroy(message); }
  void operator()(rd_kafka_topic_partition_list_t* list) const {
    rd_kafka_topic_partition_list_destroy(list);
  }
};

std::unique_ptr<rd_kafka_t, Ended> reader(const std::string& brokers) {
  rd_kafka_conf_t* conf = rd_kafka_conf_new();
  std::array<char, 512> why{};
  const std::pair<const char*, std::string> settings[] = {{"bootstrap.servers", brokers},
                                                          {"group.id", "semel-tests-reader"},
                                                          {"enable.auto.commit", "false"},
                                                          {"auto.offset.reset", "earliest"},
                                                          {"log_level", "0"}};
  for (const auto& [name, value] : settings) {
    rd_kafka_conf_set(conf, name, value.c_str(), why.data(), why.size());
  }
  std::unique_ptr<rd_kafka_t, Ended> handle(
      rd_kafka_new(RD_KAFKA_CONSUMER, conf, why.data(), why.size()));
  if (!handle) throw std::runtime_error(why.data());
  rd_kafka_poll_set_consumer(handle.get());
  return handle;
}

KafkaServer::Record record_of(const rd_kafka_message_t& message) {
  KafkaServer::Record record;
  if (message.payload != nullptr) {
    record.value.assign(static_cast<const char*>(message.payload), message.len);
  }
  if (message.key != nullptr) {
    record.key = std::string(static_cast<const char*>(message.key), message.key_len);
  }
  record.partition = message.partition;
  rd_kafka_headers_t* headers = nullptr;
  if (rd_kafka_message_headers(&message, &headers) != RD_KAFKA_RESP_ERR_NO_ERROR) return record;
  const char* name = nullptr;
  const void* value = nullptr;
  std::size_t size = 0;
  for (std::size_t i = 0;
       rd_kafka_header_get_all(headers, i, &name, &value, &size) == RD_KAFKA_RESP_ERR_NO_ERROR;
       ++i) {
    record.headers.emplace_back(name, std::string(static_cast<const char*>(value), size));
  }
  return record;
}

}  // namespace

std::vector<KafkaServer::Record> records_of(const KafkaServer& server, const std::string& topic,
                                            int partitions) {
  std::vector<KafkaServer::Record> records;
  const auto handle = reader(server.brokers());
  for (int partition = 0; partition < partitions; ++partition) {
    const std::int64_t end = server.end_of(topic, partition);
    if (end == 0) continue;
    const std::unique_ptr<rd_kafka_topic_partition_list_t, Ended> list(
        rd_kafka_topic_partition_list_new(1));
    rd_kafka_topic_partition_list_add(list.get(), topic.c_str(), partition)->offset = 0;
    rd_kafka_assign(handle.get(), list.get());
    for (std::int64_t next = 0; next < end;) {
      const std::unique_ptr<rd_kafka_message_t, Ended> message(
          rd_kafka_consumer_poll(handle.get(), kRecordPatience));
      if (!message) throw std::runtime_error("a topic is not read to its end");
      if (message->err != RD_KAFKA_RESP_ERR_NO_ERROR) continue;
      next = message->offset + 1;
      records.push_back(record_of(*message));
    }
  }
  return records;
}

std::string header_of(const KafkaServer::Record& record, std::string_view name) {
  for (const auto& [each, value] : record.headers) {
    if (each == name) return value;
  }
  return "(none)";
}

}  // namespace semel::test
