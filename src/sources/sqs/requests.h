// Builds the source's requests to the service, and parses the answers. Pure.
#pragma once

#include <chrono>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/sqs_spec.h"
#include "sources/sqs/arrival.h"
#include "sources/sqs/make_sqs_source.h"

namespace semel::sqs {

std::string attributes_request(const core::SqsAccess& access);
std::string receive_request(const core::SqsSpec& spec, std::size_t most, std::chrono::seconds wait);
// Both name each entry by its index in the batch.
std::string delete_request(const core::SqsAccess& access, std::span<const std::string> receipts);
struct Hiding {
  std::string receipt;
  std::chrono::seconds visibility;  // from now on
};
std::string hide_request(const core::SqsAccess& access, std::span<const Hiding> entries);

// Answers are valid JSON.
std::vector<ReceivedMessage> read_messages(std::string_view answer);
QueueFacts read_facts(std::string_view answer, const std::string& queue);

// An entry of a batch that was not carried out.
struct FailedEntry {
  std::size_t place = 0;
  std::string code;
  std::string said;
};
std::vector<FailedEntry> read_failed(std::string_view answer);

}  // namespace semel::sqs
