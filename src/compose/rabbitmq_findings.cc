#include "compose/rabbitmq_findings.h"

#include <fmt/format.h>

#include <string>
#include <utility>

#include "sources/rabbitmq/make_rabbitmq_source.h"

namespace semel::compose {
namespace {

Finding queue_found(const std::string& queue, const rabbitmq::QueueLook& look) {
  if (!look.there) {
    return {"D139", true, queue + " is not there yet: a run makes it (declare: true)", {}, true};
  }
  return {"D139",
          true,
          fmt::format("{} is there; messages ready: {}, consumers: {}", queue, look.ready,
                      look.consumers),
          {}};
}

}  // namespace

std::vector<Finding> look_at_rabbitmq(const config::Config& config) {
  std::vector<Finding> findings;
  for (const config::ConsumerConfig& consumer : config.consumers) {
    const auto* source = std::get_if<config::RabbitmqSource>(&consumer.source);
    if (source == nullptr) continue;
    const auto look = rabbitmq::look_at_queue(source->spec);
    if (look) {
      const std::string queue = fmt::format("{}: queue {}", consumer.name, source->spec.queue);
      findings.push_back(queue_found(queue, *look));
    } else {
      findings.push_back(failed_for(consumer.name, look.error().code, look.error()));
    }
  }
  return findings;
}

}  // namespace semel::compose
