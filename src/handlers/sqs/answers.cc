#include "handlers/sqs/answers.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "core/error_text.h"
#include "core/verdict_details.h"

namespace semel::sqs {

namespace {

using Broker = Judged::Broker;

Judged try_again(const std::string& code, std::string why, Broker broker, bool unknown) {
  return core::judged_again(code, std::move(why), broker, unknown);
}

Judged alone(Judged refused) {
  refused.costs_alone = true;
  return refused;
}

Judged nobody_mends(const std::string& code, std::string why, bool unknown = false) {
  Judged made = core::judged_dead(code, std::move(why), Broker::kSilent);
  core::set_unknown(made.verdict, unknown);
  return made;
}

bool says_too_long(std::string_view code, std::string_view said) {
  constexpr std::array<std::string_view, 4> kSaid = {"shorter than", "longer than", "too long",
                                                     "MessageTooLong"};
  return code == "BatchRequestTooLong" || code == "MessageTooLong" ||
         std::ranges::any_of(kSaid, [&](std::string_view words) {
           return said.find(words) != std::string_view::npos;
         });
}

// The message itself is at fault.
bool is_of_the_message(std::string_view type) noexcept {
  constexpr std::array<std::string_view, 10> kTypes = {"BatchRequestTooLong",
                                                       "InvalidMessageContents",
                                                       "InvalidParameterValue",
                                                       "MessageTooLong",
                                                       "InvalidParameterValueException",
                                                       "InvalidAttributeName",
                                                       "InvalidAttributeValue",
                                                       "InvalidParameter",
                                                       "ParameterValueInvalid",
                                                       "ValidationError"};
  return std::ranges::find(kTypes, type) != kTypes.end();
}

// True if nobody may use the encryption key of the queue or topic, such as KmsDisabled.
bool is_of_encryption(std::string_view code) {
  return code.starts_with("Kms") || code.starts_with("KMS");
}

struct WordOf {
  std::string_view code;
  std::string_view word;
};
constexpr WordOf kWords[] = {{"R390", "connect"},     {"R397", "connect"}, {"R391", "credentials"},
                             {"R392", "credentials"}, {"R393", "denied"},  {"R396", "throttled"}};

std::string_view word_of(const Error& error, const Service& service) {
  if (error.code == "R394") return service.names.thing;
  // The credentials were there, or a service that provides them does not answer.
  if (error.code == "R391" && error.kind == ErrorKind::kUnavailable) return "connect";
  const auto* const row = std::ranges::find(kWords, error.code, &WordOf::code);
  return row == std::end(kWords) ? "server" : row->word;
}

}  // namespace

Judged judge_taken(const std::string& message_id) {
  Judged made;
  made.verdict = done(message_id);
  return made;
}

Judged judge_entry(const RefusedEntry& refused, bool doubt, const Service& service) {
  const std::string why =
      fmt::format("{} refuses it: {} ({})", service.names.service, refused.said, refused.code);
  const auto again = [&](std::string_view word) {
    return try_again(service.reason(word), why, Broker::kAtFault, doubt);
  };
  if (is_throttled(refused.code, 0)) return again("throttled");
  if (is_of_rights(refused.code) || is_of_encryption(refused.code)) return again("denied");
  if (is_of_queue(refused.code)) return again(service.names.thing);
  if (!refused.of_the_sender) {
    // As with a whole request that the service failed at, it may have been stored before.
    const bool unknown = doubt || !is_of_the_message(refused.code);
    return alone(try_again(service.reason("server"), why, Broker::kRefuses, unknown));
  }
  const bool too_long = says_too_long(refused.code, refused.said);
  return nobody_mends(service.reason(too_long ? "too_large" : "invalid"), why, doubt);
}

Judged judge_batch(const Client::Answer& answer, bool doubt, const Service& service) {
  const Error& error = answer.body.error();
  std::string why = core::text_with_hint(error);
  if (!is_of_messages(answer.refusal)) {
    const std::string_view word = word_of(error, service);
    const bool reset = word == "connect" && doubt;
    return try_again(service.reason(reset ? "reset" : word), std::move(why), Broker::kAtFault,
                     doubt);
  }
  const bool too_long = says_too_long(answer.refusal.type, answer.refusal.said);
  return nobody_mends(service.reason(too_long ? "too_large" : "invalid"), std::move(why), doubt);
}

bool is_of_messages(const Refusal& refusal) noexcept {
  constexpr int kBadRequest = 400;
  // SNS gives these types for a malformed TopicArn too, which is no fault of the message.
  return refusal.status == kBadRequest && refusal.said.find("TopicArn") == std::string::npos &&
         is_of_the_message(refusal.type);
}

Judged not_named(const Service& service) {
  return alone(try_again(
      service.reason("server"),
      fmt::format("the answer of {} does not mention this message", service.names.service),
      Broker::kRefuses, true));
}

Judged cannot_be_a_message(const std::string& flaw, const Service& service) {
  return nobody_mends(service.reason("invalid"), fmt::format("{} cannot carry it: the message {}",
                                                             service.names.service, flaw));
}

Judged is_too_large(std::size_t bytes, const Service& service) {
  return nobody_mends(service.reason("too_large"),
                      fmt::format("payload and attributes have {} bytes, and {} takes no message "
                                  "of more than {}",
                                  bytes, service.names.service, service.longest));
}

Judged no_answer_to(const NoAnswer& call, const Service& service) {
  return core::judged_no_answer(call, service.reason("timeout"));
}

}  // namespace semel::sqs
