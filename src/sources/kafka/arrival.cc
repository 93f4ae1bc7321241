#include "sources/kafka/arrival.h"

#include <librdkafka/rdkafka.h>

#include <array>
#include <charconv>
#include <chrono>
#include <string>
#include <utility>

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

// Makes the position NAME-OFFSET.
std::string position_of(const std::string& name, std::int64_t offset) {
  std::array<char, 20> digits{};
  const auto end = std::to_chars(digits.begin(), digits.end(), offset).ptr;
  std::string position;
  position.reserve(name.size() + digits.size() + 1);
  position.append(name).append(1, '-').append(digits.begin(), end);
  return position;
}

}  // namespace

Taken take(const Partition& partition) {
  Taken taken;
  // Polls one event at a time: the batch call of this librdkafka version skips messages, and calls
  // that return messages pass some errors to the client's callback.
  EventPtr event(rd_kafka_queue_poll(partition.queue.get(), 0));
  if (!event) return taken;
  rd_kafka_event_t* const raw = event.get();
  if (rd_kafka_event_type(raw) == RD_KAFKA_EVENT_FETCH) {
    const rd_kafka_message_t* const record = rd_kafka_event_message_next(raw);
    taken.record = RecordPtr(record, FreedWithItsEvent{std::move(event)});
    return taken;
  }
  const auto code = rd_kafka_event_error(raw);
  if (code == RD_KAFKA_RESP_ERR__PARTITION_EOF) {
    const PartitionPtr place(rd_kafka_event_topic_partition(raw));
    if (place) taken.end = place->offset;
  }
  if (!taken.end) {
    taken.failure = {rd_kafka_event_error_is_fatal(raw) != 0 ? RD_KAFKA_RESP_ERR__FATAL : code,
                     rd_kafka_event_error_string(raw)};
  }
  return taken;
}

void fill(Arrival& arrival, const rd_kafka_message_s& record, const Partition& partition) {
  arrival.payload = bytes_of(record.payload, record.len);
  arrival.headers = headers_of(record);
  if (const auto type = find_header(arrival.headers, "content-type")) arrival.content_type = *type;
  arrival.partition = partition.name;
  arrival.position = position_of(partition.name, record.offset);
  if (record.key != nullptr) arrival.broker_key = bytes_of(record.key, record.key_len);
  rd_kafka_timestamp_type_t kind = RD_KAFKA_TIMESTAMP_NOT_AVAILABLE;
  const auto time = rd_kafka_message_timestamp(&record, &kind);
  if (kind == RD_KAFKA_TIMESTAMP_LOG_APPEND_TIME) {
    arrival.broker_time = std::chrono::system_clock::time_point(std::chrono::milliseconds(time));
  }
  arrival.tag = {static_cast<std::uint64_t>(record.offset), partition.generation};
}

std::optional<std::chrono::system_clock::time_point> sent_at(const rd_kafka_message_s& record) {
  rd_kafka_timestamp_type_t kind = RD_KAFKA_TIMESTAMP_NOT_AVAILABLE;
  const auto time = rd_kafka_message_timestamp(&record, &kind);
  if (kind == RD_KAFKA_TIMESTAMP_NOT_AVAILABLE || time < 0) return std::nullopt;
  return std::chrono::system_clock::time_point(std::chrono::milliseconds(time));
}

}  // namespace semel::kafka
