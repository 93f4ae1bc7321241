#include <optional>
#include <utility>

#include "clients/nats/connection.h"
#include "clients/nats/errors.h"
#include "clients/nats/jetstream.h"
#include "sources/nats/make_nats_source.h"

namespace semel::nats {

namespace {

Result<ConsumerLook> look_at(const core::NatsSpec& spec, const core::NatsNode& node) {
  Connection connection(spec, false);
  if (auto opened = connection.open(node); !opened) return failure(std::move(opened.error()));
  const auto stream = ask_stream(connection, spec);
  // A run needs no right to ask about the stream.
  if (!stream && stream.error().code != "R385") return failure(stream.error());
  ConsumerLook look;
  if (stream) {
    look.in_memory = stream->in_memory;
    look.replicas = stream->replicas;
    look.max_age = stream->max_age;
    look.duplicates = stream->duplicates;
    look.subjects = stream->subjects;
  } else {
    look.stream_hidden = stream.error();
  }
  const auto consumer = ask_consumer(connection, spec);
  if (!consumer) {
    if (!spec.declare || consumer.error().code != "R384") return failure(consumer.error());
    look.there = false;
    if (!spec.subject.empty()) look.filters.push_back(spec.subject);
    return look;
  }
  if (auto bad = unusable(*consumer, spec)) return failure(*std::move(bad));
  look.waiting = consumer->pending + consumer->ack_pending;
  look.max_deliver = consumer->max_deliver;
  look.shortest_wait = consumer->shortest_wait();
  look.max_ack_pending = consumer->max_ack_pending;
  look.filters = consumer->filters;
  return look;
}

}  // namespace

Result<ConsumerLook> look_at_consumer(const core::NatsSpec& spec) {
  std::optional<Error> last;
  for (const core::NatsNode& node : spec.address.nodes) {
    auto look = look_at(spec, node);
    if (look) return look;
    last = std::move(look.error());
    if (is_final(*last)) break;
  }
  return failure(*std::move(last));
}

}  // namespace semel::nats
