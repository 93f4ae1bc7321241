#include "handlers/sqs/entries.h"

#include "base/json.h"
#include "base/printable.h"
#include "base/text_encoding.h"
#include "clients/sqs/json_walk.h"

namespace semel::sqs {

namespace {

void add_attributes(json::Writer& writer, const std::vector<core::SqsAttribute>& attributes) {
  if (attributes.empty()) return;
  writer.name("MessageAttributes").begin_object();
  for (const core::SqsAttribute& each : attributes) {
    writer.name(each.name).begin_object();
    writer.member("DataType", each.binary ? "Binary" : "String");
    if (each.binary) {
      writer.member("BinaryValue", text::base64(each.value));
    } else {
      writer.member("StringValue", each.value);
    }
    writer.end_object();
  }
  writer.end_object();
}

std::string group_for(const Message& message, const core::SqsSendSpec& spec) {
  if (!spec.group_of) return core::sqs_group_of(message, spec.fifo);
  return core::sqs_id_of(spec.group_of(message).value_or(message.key().text));
}

}  // namespace

Entry entry_of(const Message& message, const core::SqsSendSpec& spec) {
  Entry made;
  made.attributes = core::sqs_attributes_of(message);
  made.size = core::sqs_size_of(message.payload(), made.attributes);
  if (!spec.queue.fifo()) return made;
  made.group = group_for(message, spec);
  made.deduplication = core::sqs_deduplication_id_of(message, spec.fifo.deduplication);
  return made;
}

std::string batch_request(const std::string& queue_url, std::chrono::milliseconds delay,
                          std::span<const OutgoingEntry> batch) {
  const auto hidden = std::chrono::ceil<std::chrono::seconds>(delay);
  json::Writer writer;
  writer.begin_object().member("QueueUrl", queue_url).name("Entries").begin_array();
  for (std::size_t i = 0; i < batch.size(); ++i) {
    const Entry& entry = *batch[i].entry;
    writer.begin_object().member("Id", std::to_string(i)).member("MessageBody", batch[i].payload);
    if (!entry.group.empty()) {
      writer.member("MessageGroupId", entry.group)
          .member("MessageDeduplicationId", entry.deduplication);
    }
    if (hidden.count() > 0) writer.member("DelaySeconds", hidden.count());
    add_attributes(writer, entry.attributes);
    writer.end_object();
  }
  return writer.end_array().end_object().text();
}

std::optional<std::size_t> place_of(std::string_view id) {
  const auto place = number_of(id);
  return place && *place >= 0 ? std::optional(static_cast<std::size_t>(*place)) : std::nullopt;
}

BatchAnswer read_batch(std::string_view answer) {
  BatchAnswer made;
  each_item(member_of(answer, "Successful"), [&](std::string_view entry) {
    if (const auto place = place_of(member_of(entry, "Id"))) {
      made.taken.push_back({*place, text_of(member_of(entry, "MessageId"))});
    }
  });
  each_item(member_of(answer, "Failed"), [&](std::string_view entry) {
    if (const auto place = place_of(member_of(entry, "Id"))) {
      made.refused.push_back({*place, text_of(member_of(entry, "Code")),
                              printable_text(text_of(member_of(entry, "Message"))),
                              text_of(member_of(entry, "SenderFault")) == "true"});
    }
  });
  return made;
}

}  // namespace semel::sqs
