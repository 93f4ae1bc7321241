// The differences between SQS and SNS for a publisher. Pure.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "clients/sqs/client.h"
#include "core/sqs_publish_spec.h"
#include "handlers/sqs/entries.h"

namespace semel::sqs {

struct Service {
  ServiceNames names;
  Client::Protocol protocol = Client::Protocol::kJson;
  std::string action;
  std::string (*reason)(std::string_view word) = nullptr;
  std::size_t longest = 0;  // of a message with its attributes, in bytes
  std::function<std::string(std::span<const OutgoingEntry>)> request;
  BatchAnswer (*read)(std::string_view answer) = nullptr;
};

Service to_sqs(const core::SqsPublishSpec& spec);
Service to_sns(const core::SnsPublishSpec& spec);

}  // namespace semel::sqs
