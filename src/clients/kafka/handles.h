// Destructors for librdkafka's objects: one that is not destroyed makes rd_kafka_destroy() wait
// forever.
#pragma once

#include <memory>

struct rd_kafka_s;
struct rd_kafka_conf_s;
struct rd_kafka_error_s;
struct rd_kafka_message_s;
struct rd_kafka_op_s;
struct rd_kafka_queue_s;
struct rd_kafka_topic_partition_list_s;
struct rd_kafka_topic_partition_s;
struct rd_kafka_topic_s;

namespace semel::kafka {

struct Freed {
  void operator()(rd_kafka_conf_s* conf) const noexcept;
  void operator()(rd_kafka_error_s* error) const noexcept;
  void operator()(rd_kafka_message_s* message) const noexcept;
  void operator()(rd_kafka_op_s* event) const noexcept;
  void operator()(rd_kafka_queue_s* queue) const noexcept;
  void operator()(rd_kafka_topic_partition_list_s* list) const noexcept;
  void operator()(rd_kafka_topic_partition_s* partition) const noexcept;
  void operator()(rd_kafka_topic_s* topic) const noexcept;
};

using ConfPtr = std::unique_ptr<rd_kafka_conf_s, Freed>;
using ErrorPtr = std::unique_ptr<rd_kafka_error_s, Freed>;
using MessagePtr = std::unique_ptr<rd_kafka_message_s, Freed>;
using EventPtr = std::unique_ptr<rd_kafka_op_s, Freed>;
using QueuePtr = std::unique_ptr<rd_kafka_queue_s, Freed>;
using PartitionPtr = std::unique_ptr<rd_kafka_topic_partition_s, Freed>;
using TopicPtr = std::unique_ptr<rd_kafka_topic_s, Freed>;
using ListPtr = std::unique_ptr<rd_kafka_topic_partition_list_s, Freed>;

// A record that arrived as an event lives as long as the event.
struct FreedWithItsEvent {
  EventPtr event;
  void operator()(const rd_kafka_message_s*) noexcept { event.reset(); }
};
using RecordPtr = std::unique_ptr<const rd_kafka_message_s, FreedWithItsEvent>;

}  // namespace semel::kafka
