#include "sources/sqs/requests.h"

#include <fmt/format.h>

#include "base/json.h"
#include "base/json_scan.h"
#include "clients/sqs/json_walk.h"

namespace semel::sqs {

namespace {

json::Writer begin_request(const core::SqsAccess& access) {
  json::Writer writer;
  writer.begin_object().member("QueueUrl", access.queue.url);
  return writer;
}

void add_all(json::Writer& writer, std::string_view name) {
  writer.name(name).begin_array().value("All").end_array();
}

// The policy is a text that contains JSON.
std::optional<core::SqsRedrive> redrive_in(const std::string& policy) {
  if (policy.empty() || !json::validate(policy)) return std::nullopt;
  const auto most = number_of(member_of(policy, "maxReceiveCount"));
  if (!most) return std::nullopt;
  return core::SqsRedrive{*most, text_of(member_of(policy, "deadLetterTargetArn"))};
}

}  // namespace

std::string attributes_request(const core::SqsAccess& access) {
  json::Writer writer = begin_request(access);
  add_all(writer, "AttributeNames");
  return writer.end_object().text();
}

std::string receive_request(const core::SqsSpec& spec, std::size_t most,
                            std::chrono::seconds wait) {
  json::Writer writer = begin_request(spec);
  writer.member("MaxNumberOfMessages", most)
      .member("WaitTimeSeconds", wait.count())
      .member("VisibilityTimeout",
              std::chrono::ceil<std::chrono::seconds>(spec.visibility).count());
  add_all(writer, "MessageSystemAttributeNames");
  add_all(writer, "MessageAttributeNames");
  return writer.end_object().text();
}

std::string delete_request(const core::SqsAccess& access, std::span<const std::string> receipts) {
  json::Writer writer = begin_request(access);
  writer.name("Entries").begin_array();
  for (std::size_t i = 0; i < receipts.size(); ++i) {
    writer.begin_object()
        .member("Id", std::to_string(i))
        .member("ReceiptHandle", receipts[i])
        .end_object();
  }
  return writer.end_array().end_object().text();
}

std::string hide_request(const core::SqsAccess& access, std::span<const Hiding> entries) {
  json::Writer writer = begin_request(access);
  writer.name("Entries").begin_array();
  for (std::size_t i = 0; i < entries.size(); ++i) {
    writer.begin_object()
        .member("Id", std::to_string(i))
        .member("ReceiptHandle", entries[i].receipt)
        .member("VisibilityTimeout", entries[i].visibility.count())
        .end_object();
  }
  return writer.end_array().end_object().text();
}

std::vector<ReceivedMessage> read_messages(std::string_view answer) {
  std::vector<ReceivedMessage> made;
  each_item(member_of(answer, "Messages"),
            [&](std::string_view message) { made.push_back(message_of(message)); });
  return made;
}

QueueFacts read_facts(std::string_view answer, const std::string& queue) {
  QueueFacts made;
  made.horizon.longest = core::kSqsLongestRetention;
  made.horizon.said = "no queue of SQS keeps a message for longer";
  each_member(member_of(answer, "Attributes"), [&](const std::string& name,
                                                   std::string_view value) {
    if (name == "ApproximateNumberOfMessages") made.ready = number_of(value).value_or(0);
    if (name == "RedrivePolicy") made.redrive = redrive_in(text_of(value));
    if (name == "ContentBasedDeduplication") made.deduplicates_content = text_of(value) == "true";
    if (name != "MessageRetentionPeriod") return;
    if (const auto seconds = number_of(value)) {
      made.horizon.longest = std::chrono::seconds(*seconds);
      made.horizon.said = fmt::format("queue {} has MessageRetentionPeriod={}", queue, *seconds);
    }
  });
  return made;
}

std::vector<FailedEntry> read_failed(std::string_view answer) {
  std::vector<FailedEntry> made;
  each_item(member_of(answer, "Failed"), [&](std::string_view entry) {
    const auto place = number_of(member_of(entry, "Id"));
    if (!place || *place < 0) return;
    made.push_back({static_cast<std::size_t>(*place), text_of(member_of(entry, "Code")),
                    text_of(member_of(entry, "Message"))});
  });
  return made;
}

}  // namespace semel::sqs
