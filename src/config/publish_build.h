// Builds and checks the specs of publishing handlers.
#pragma once

#include <string>

#include "config/build.h"

namespace semel::config {

core::KafkaPublishSpec build_kafka_publish(const View& kafka, Report& report);
core::RabbitmqPublishSpec build_rabbitmq_publish(const View& rabbitmq, const std::string& folder,
                                                 Report& report);

core::RedisStreamsPublishSpec build_redis_streams_publish(const View& streams, Report& report);
core::SqsPublishSpec build_sqs_publish(const View& sqs, const std::string& folder, Report& report);
core::SnsPublishSpec build_sns_publish(const View& sns, const std::string& folder, Report& report);
core::NatsPublishSpec build_nats_publish(const View& nats, const std::string& folder,
                                         Report& report);

// Completes such a handler's spec from the rest of its consumer.
void complete_publish(ConsumerConfig& consumer);

// Warns of secrets written in the file itself, and refuses a cycle.
void check_publish(const ConsumerConfig& consumer, const View& view, Report& report);

}  // namespace semel::config
