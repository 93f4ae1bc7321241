#include "handlers/nats/answers.h"

#include <fmt/format.h>
#include <nats/nats.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <utility>
#include <variant>

#include <semel/reason.h>

#include "base/json.h"
#include "core/error_text.h"

namespace semel::nats {

namespace {

using Servers = Judged::Broker;

enum class Cause {
  kMessage,  // nobody can fix it
  kRoom,     // a smaller message may have some
  kStream,
};

struct Refusal {
  std::int64_t code;
  const char* word;
  Cause cause;
};

constexpr std::int64_t kHeadersTooLarge = 10'097;
constexpr Refusal kRefusals[] = {
    {JSStreamMessageExceedsMaximumErr, "too_large", Cause::kMessage},
    {kHeadersTooLarge, "too_large", Cause::kMessage},
    {JSStorageResourcesExceededErr, "full", Cause::kRoom},
    {JSMemoryResourcesExceededErr, "full", Cause::kRoom},
    {JSInsufficientResourcesErr, "full", Cause::kRoom},
    {JSAccountResourcesExceededErr, "full", Cause::kRoom},
    // The stream's limits are reached, and it discards new messages.
    {JSStreamStoreFailedErr, "full", Cause::kRoom},
    {JSStreamSealedErr, "stream", Cause::kStream},
    {JSNotEnabledErr, "stream", Cause::kStream},
    {JSNotEnabledForAccountErr, "stream", Cause::kStream},
};

Judged once_more(std::string_view word, std::string why, Servers servers, bool unknown) {
  return core::judged_again(reason::nats_reason(word), std::move(why), servers, unknown);
}

Judged never(std::string_view word, std::string why) {
  return core::judged_dead(reason::nats_reason(word), std::move(why), Servers::kSilent);
}

json::Scalar scalar_at(const json::Document& document, std::string_view pointer) {
  auto found = document.at(json::Pointer::parse(pointer).value());
  return found ? *std::move(found) : json::Scalar(json::Absent{});
}

std::int64_t number_at(const json::Document& document, std::string_view pointer) {
  const auto found = scalar_at(document, pointer);
  const auto* const number = std::get_if<json::Integer>(&found);
  return number == nullptr ? 0 : number->value.value_or(0);
}

std::string text_at(const json::Document& document, std::string_view pointer) {
  auto found = scalar_at(document, pointer);
  auto* const text = std::get_if<std::string>(&found);
  return text == nullptr ? std::string() : std::move(*text);
}

Judged judge_refused(std::int64_t code, const std::string& said, const std::string& subject) {
  const std::string why =
      fmt::format("the stream that takes {} refuses it: {} ({})", subject, said, code);
  const auto* const row = std::find_if(std::begin(kRefusals), std::end(kRefusals),
                                       [&](const Refusal& each) { return each.code == code; });
  if (row == std::end(kRefusals)) {
    Judged made = once_more("server", why, Servers::kRefuses, false);
    made.costs_alone = true;
    return made;
  }
  if (row->cause == Cause::kMessage) return never(row->word, why);
  const bool all = row->cause == Cause::kStream;
  return once_more(row->word, why, all ? Servers::kAtFault : Servers::kRefuses, false);
}

}  // namespace

Judged judge_stored(std::string_view answer, const std::string& subject) {
  json::Document document;
  const bool read = document.parse(answer).has_value();
  if (read && !std::holds_alternative<json::Absent>(scalar_at(document, "/error"))) {
    return judge_refused(number_at(document, "/error/err_code"),
                         text_at(document, "/error/description"), subject);
  }
  const std::string stream = read ? text_at(document, "/stream") : std::string();
  if (stream.empty()) {
    return once_more(
        "server",
        fmt::format("no stream answers at {}: another program replies to it in the stream's place",
                    subject),
        Servers::kAtFault, true);
  }
  Judged made;
  made.verdict = done(fmt::format("{}-{}", stream, number_at(document, "/seq")));
  return made;
}

Judged no_stream_for(const std::string& subject) {
  return once_more("stream",
                   fmt::format("no stream takes {}: make one that has the subject (nats stream "
                               "add), or check the account that the login belongs to",
                               subject),
                   Servers::kAtFault, false);
}

Judged nats_cannot_carry(const std::string& flaw) {
  return never("invalid", fmt::format("NATS cannot carry it: the message {}", flaw));
}

Judged beyond_max_payload(std::size_t bytes, std::int64_t most) {
  return never("too_large", fmt::format("payload and headers have {} bytes or more, and the "
                                        "server's max_payload is {}",
                                        bytes, most));
}

Judged not_reached(const Error& error) {
  return once_more("connect", core::text_with_hint(error), Servers::kAtFault, false);
}

Judged not_stored_for_sure(const Error& error) {
  return once_more("reset", core::text_with_hint(error), Servers::kAtFault, true);
}

Judged no_answer_to(const NotConfirmed& call) {
  if (call.sent && !call.denied.empty()) {
    return once_more("denied",
                     fmt::format("this user may not do it: {}; allow it: publish on {}, subscribe "
                                 "on _INBOX.>",
                                 call.denied, call.subject),
                     Servers::kAtFault, true);
  }
  return once_more("timeout",
                   fmt::format("{} within {} ms", call.sent ? "no answer" : "it was not sent",
                               call.after.count()),
                   call.sent && !call.stopped ? Servers::kAtFault : Servers::kSilent, call.sent);
}

}  // namespace semel::nats
