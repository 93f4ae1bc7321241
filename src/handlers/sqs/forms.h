// The request of the SNS handler to the service, as a form, and its reading of the answer in XML.
// Pure.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "handlers/sqs/entries.h"

namespace semel::sqs {

// The parameters of PublishBatch; each entry is named by its place.
std::string batch_form(const std::string& topic_arn, std::span<const OutgoingEntry> batch);
BatchAnswer read_batch_xml(std::string_view answer);

}  // namespace semel::sqs
