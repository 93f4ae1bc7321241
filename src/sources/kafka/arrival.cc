#include "sources/kafka/arrival.h"

#include <fmt/format.h>
#include <librdkafka/rdkafka.h>

#include <chrono>

namespace semel::kafka {
namespace {

Bytes bytes_of(const void* data, std::size_t size) {
  return data == nullptr ? Bytes() : Bytes(static_cast<const char*>(data), size);
}

Headers headers_of(const rd_kafka_message_t& message) {
  Headers made;
  rd_kafka_headers_t* headers = nullptr;
  if (rd_kafka_message_headers(&message, &headers) != RD_KAFKA_RESP_ERR_NO_ERROR) return made;
  const char* name = nullptr;
  const void* value = nullptr;
  std::size_t size = 0;
  made.reserve(rd_kafka_header_cnt(headers));
  for (std::size_t i = 0;
       rd_kafka_header_get_all(headers, i, &name, &value, &size) == RD_KAFKA_RESP_ERR_NO_ERROR;
       ++i) {
    made.push_back({name, bytes_of(value, size)});
  }
  return made;
}

Arrival arrival_of(const rd_kafka_message_t& message, const Partition& partition) {
  Arrival arrival;
  arrival.payload = bytes_of(message.payload, message.len);
  arrival.headers = headers_of(message);
  if (const auto type = find_header(arrival.headers, "content-type")) arrival.content_type = *type;
  arrival.partition = partition.name;
  arrival.position = fmt::format("{}-{}", partition.name, message.offset);
  if (message.key != nullptr) arrival.broker_key = bytes_of(message.key, message.key_len);
  rd_kafka_timestamp_type_t kind = RD_KAFKA_TIMESTAMP_NOT_AVAILABLE;
  const auto time = rd_kafka_message_timestamp(&message, &kind);
  if (kind == RD_KAFKA_TIMESTAMP_LOG_APPEND_TIME) {
    arrival.broker_time = std::chrono::system_clock::time_point(std::chrono::milliseconds(time));
  }
  arrival.tag = {static_cast<std::uint64_t>(message.offset), partition.generation};
  return arrival;
}

}  // namespace

Taken take(const Partition& partition) {
  // One at a time: the batch call of this library's version skips messages.
  const MessagePtr message(rd_kafka_consume_queue(partition.queue.get(), 0));
  if (!message) return Nothing{};
  if (message->err == RD_KAFKA_RESP_ERR_NO_ERROR) {
    return Record{message->offset, arrival_of(*message, partition)};
  }
  if (message->err == RD_KAFKA_RESP_ERR__PARTITION_EOF) return PartitionEnd{message->offset};
  const char* said = rd_kafka_message_errstr(message.get());
  return PartitionError{message->err, said == nullptr ? "" : said};
}

}  // namespace semel::kafka
