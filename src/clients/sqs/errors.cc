#include "clients/sqs/errors.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>

#include "base/json_scan.h"
#include "base/printable.h"
#include "clients/sqs/json_walk.h"
#include "clients/sqs/query_protocol.h"

namespace semel::sqs {

namespace {

constexpr std::size_t kShown = 300;
constexpr int kTooManyRequests = 429;
constexpr int kUnavailableFrom = 500;

bool is_any(std::string_view type, std::initializer_list<std::string_view> of) noexcept {
  return std::ranges::find(of, type) != of.end();
}

}  // namespace

Refusal refusal_in(int status, std::string_view body) {
  Refusal made{status, {}, {}};
  if (!json::validate(body)) {
    made.said = printable_text(body.substr(0, kShown));
    return made;
  }
  made.type = text_of(member_of(body, "__type"));
  made.type.erase(0, made.type.find_last_of("#.") + 1);
  std::string_view said = member_of(body, "message");
  if (said.empty()) said = member_of(body, "Message");
  made.said = printable_text(text_of(said).substr(0, kShown));
  return made;
}

bool is_of_rights(std::string_view type) noexcept {
  return is_any(type, {"AccessDenied", "AccessDeniedException", "KmsAccessDenied",
                       "KMS.AccessDeniedException", "KMSAccessDenied", "AuthorizationError",
                       "AuthorizationErrorException", "OptInRequired"});
}

bool is_of_queue(std::string_view type) noexcept {
  return is_any(type,
                {"QueueDoesNotExist", "AWS.SimpleQueueService.NonExistentQueue", "NonExistentQueue",
                 "QueueDeletedRecently", "InvalidAddress", "NotFound", "NotFoundException"});
}

bool is_throttled(std::string_view type, int status) noexcept {
  return status == kTooManyRequests ||
         is_any(type, {"RequestThrottled", "ThrottlingException", "Throttling", "OverLimit",
                       "KmsThrottled", "TooManyRequestsException", "SlowDown", "Throttled",
                       "KMSThrottling"});
}

bool is_of_credentials(std::string_view type) noexcept {
  return is_any(type, {"ExpiredToken", "ExpiredTokenException", "InvalidClientTokenId",
                       "UnrecognizedClientException", "InvalidSecurity", "InvalidAccessKeyId",
                       "MissingAuthenticationToken", "MissingAuthenticationTokenException",
                       "IncompleteSignature", "IncompleteSignatureException"}) ||
         is_of_time(type);
}

bool is_of_time(std::string_view type) noexcept {
  return is_any(type, {"RequestTimeTooSkewed", "RequestExpired", "SignatureDoesNotMatch",
                       "InvalidSignatureException", "AuthFailure"});
}

bool is_of_receipt(std::string_view type) noexcept {
  return is_any(type, {"ReceiptHandleIsInvalid", "MessageNotInflight", "InvalidParameterValue",
                       "InvalidParameterValueException", "InvalidIdFormat"});
}

Refusal query_refusal_in(int status, std::string_view body) {
  Refusal made{status, {}, {}};
  made.type = printable_text(xml_text(between_tags(body, "Code")));
  made.said = made.type.empty()
                  ? printable_text(body.substr(0, kShown))
                  : printable_text(xml_text(between_tags(body, "Message")).substr(0, kShown));
  return made;
}

Error refused(const Refusal& refusal, const core::SqsAccess& access, const Worked& worked,
              bool receipts, const ServiceNames& names) {
  const std::string queue = fmt::format("{} {}", names.thing, access.queue.name);
  const std::string address = fmt::format("{}.{}", names.settings, names.address);
  const std::string what =
      refusal.type.empty() ? fmt::format("status {}", refusal.status) : refusal.type;
  const std::string said = refusal.said.empty() ? what : fmt::format("{} ({})", refusal.said, what);
  const auto unless = [](bool known) {
    return known ? ErrorKind::kUnavailable : ErrorKind::kRejected;
  };
  if (is_throttled(refusal.type, refusal.status)) {
    return {ErrorKind::kUnavailable, "R396",
            fmt::format("{} takes no more requests for {} for now: {}", names.service, queue, said),
            "it is asked less often until it does"};
  }
  if (is_of_queue(refusal.type)) {
    return {
        ErrorKind::kRejected, "R394", fmt::format("there is no {}: {}", queue, said),
        fmt::format("make the {}, or mend account, region and name in {}", names.thing, address)};
  }
  if (is_of_rights(refusal.type)) {
    return {unless(worked.action), "R393", fmt::format("a right is missing on {}: {}", queue, said),
            fmt::format("allow {} on it", names.rights)};
  }
  if (is_of_credentials(refusal.type)) {
    return {unless(worked.any), "R392",
            fmt::format("{} does not accept the credentials: {}", names.service, said),
            "mend them, and the region that requests are signed for"};
  }
  if (refusal.status >= kUnavailableFrom) {
    return {ErrorKind::kUnavailable, "R390",
            fmt::format("{} at {} cannot answer: {}", names.service, access.queue.host, said),
            fmt::format("check host and port of {}, and the network; it is waited for", address)};
  }
  if (receipts && is_of_receipt(refusal.type)) {
    return {ErrorKind::kUnavailable, "R395", said,
            "a longer visibility_timeout, where it happens often"};
  }
  return {unless(worked.any), "R398",
          fmt::format("{} refuses what is asked of {}: {}", names.service, queue, said),
          "semel doctor; a server of your own has to speak the service's protocol"};
}

Error unanswered(const Error& told, const core::SqsAccess& access, const ServiceNames& names) {
  if (told.kind == ErrorKind::kRejected) {
    return {ErrorKind::kRejected, "R397",
            fmt::format("TLS with {} does not come about: {}", access.queue.host, told.message),
            names.settings + ".ca_file: the certificate authority that signed its certificate"};
  }
  return {ErrorKind::kUnavailable, "R390",
          fmt::format("no {} answers at {}: {}", names.service, access.queue.host, told.message),
          fmt::format("check host and port of {}.{}, and the network; it is waited for",
                      names.settings, names.address)};
}

}  // namespace semel::sqs
