#include "clients/kafka/handles.h"

#include <librdkafka/rdkafka.h>

namespace semel::kafka {

void Freed::operator()(rd_kafka_conf_s* conf) const noexcept { rd_kafka_conf_destroy(conf); }
void Freed::operator()(rd_kafka_error_s* error) const noexcept { rd_kafka_error_destroy(error); }
void Freed::operator()(rd_kafka_message_s* message) const noexcept {
  rd_kafka_message_destroy(message);
}
void Freed::operator()(rd_kafka_op_s* event) const noexcept { rd_kafka_event_destroy(event); }
void Freed::operator()(rd_kafka_queue_s* queue) const noexcept {
  // A partition keeps its queue, which would otherwise write to a descriptor that is reused for
  // something else by then.
  rd_kafka_queue_io_event_enable(queue, -1, nullptr, 0);
  rd_kafka_queue_destroy(queue);
}
void Freed::operator()(rd_kafka_topic_partition_list_s* list) const noexcept {
  rd_kafka_topic_partition_list_destroy(list);
}
void Freed::operator()(rd_kafka_topic_partition_s* partition) const noexcept {
  rd_kafka_topic_partition_destroy(partition);
}
void Freed::operator()(rd_kafka_topic_s* topic) const noexcept { rd_kafka_topic_destroy(topic); }

}  // namespace semel::kafka
