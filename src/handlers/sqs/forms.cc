#include "handlers/sqs/forms.h"

#include <fmt/format.h>

#include "base/printable.h"
#include "base/text_encoding.h"
#include "clients/sqs/query_protocol.h"

namespace semel::sqs {

namespace {

void add_attribute(std::string& form, const std::string& prefix, const core::SqsAttribute& each) {
  form += fmt::format("&{}.Name={}&{}.Value.DataType={}", prefix, form_encoded(each.name), prefix,
                      each.binary ? "Binary" : "String");
  form += each.binary ? fmt::format("&{}.Value.BinaryValue={}", prefix,
                                    form_encoded(text::base64(each.value)))
                      : fmt::format("&{}.Value.StringValue={}", prefix, form_encoded(each.value));
}

}  // namespace

std::string batch_form(const std::string& topic_arn, std::span<const OutgoingEntry> batch) {
  std::string form = "TopicArn=" + form_encoded(topic_arn);
  for (std::size_t i = 0; i < batch.size(); ++i) {
    const Entry& entry = *batch[i].entry;
    const std::string prefix = fmt::format("PublishBatchRequestEntries.member.{}", i + 1);
    form +=
        fmt::format("&{}.Id={}&{}.Message={}", prefix, i, prefix, form_encoded(batch[i].payload));
    if (!entry.group.empty()) {
      form += fmt::format("&{}.MessageGroupId={}&{}.MessageDeduplicationId={}", prefix,
                          form_encoded(entry.group), prefix, form_encoded(entry.deduplication));
    }
    for (std::size_t k = 0; k < entry.attributes.size(); ++k) {
      add_attribute(form, fmt::format("{}.MessageAttributes.entry.{}", prefix, k + 1),
                    entry.attributes[k]);
    }
  }
  return form;
}

BatchAnswer read_batch_xml(std::string_view answer) {
  BatchAnswer made;
  each_between(between_tags(answer, "Successful"), "member", [&](std::string_view entry) {
    if (const auto place = place_of(between_tags(entry, "Id"))) {
      made.taken.push_back({*place, xml_text(between_tags(entry, "MessageId"))});
    }
  });
  each_between(between_tags(answer, "Failed"), "member", [&](std::string_view entry) {
    if (const auto place = place_of(between_tags(entry, "Id"))) {
      made.refused.push_back({*place, xml_text(between_tags(entry, "Code")),
                              printable_text(xml_text(between_tags(entry, "Message"))),
                              between_tags(entry, "SenderFault") == "true"});
    }
  });
  return made;
}

}  // namespace semel::sqs
