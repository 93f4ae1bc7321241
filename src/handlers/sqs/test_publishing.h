// Shared by the tests of the SQS handler.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "handlers/sqs/make_sqs_publisher.h"
#include "tests/support/elasticmq_server.h"
#include "tests/support/publish_calls.h"

namespace semel::sqs {

using test::ElasticmqServer;
using test::keyed_message;
using test::publish;
using test::publish_surely;
using test::publish_until_killed;
using test::PublishCall;
using test::ToldGate;

inline core::SqsPublishSpec spec_to(const std::string& url) {
  core::SqsPublishSpec spec;
  spec.queue = core::read_sqs_url(url).value();
  spec.region = "local";
  spec.keys = {"AKID", "hunter2", {}};
  spec.timeout = std::chrono::seconds(20);
  return spec;
}

inline AsyncHandler publisher_of(const core::SqsPublishSpec& spec) {
  auto made = make_sqs_publisher(spec);
  EXPECT_TRUE(made) << made.error().message;
  return made ? *std::move(made) : AsyncHandler();
}

inline std::string header_in(const ElasticmqServer::Post& post, const std::string& name) {
  return post.header(name);
}

// How often each key stands in the queue.
inline std::map<std::string, int> keys_in(const std::vector<ElasticmqServer::Post>& posts) {
  std::map<std::string, int> times;
  for (const auto& post : posts) ++times[post.header("Idempotency-Key")];
  return times;
}

}  // namespace semel::sqs
