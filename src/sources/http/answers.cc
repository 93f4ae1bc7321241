#include "sources/http/answers.h"

#include <algorithm>
#include <functional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include <semel/reason.h>

#include "base/json.h"
#include "base/utf8.h"
#include "http_server/problem.h"

namespace semel::sources {

namespace {

using http::HttpResponse;
using std::chrono::milliseconds;

constexpr const char* kAgainSameKey = "send it again, under the same key";
constexpr const char* kBatchAgain =
    "send the batch again, with the same ids: what is done has no second effect";

MessageAnswer error_answer(int status, const char* code, std::string why, std::string fix) {
  return {.status = status, .code = code, .detail = std::move(why), .fix = std::move(fix)};
}

MessageAnswer retried_after(MessageAnswer answer, milliseconds delay) {
  answer.retry_after = delay;
  return answer;
}

// Handlers return bytes without a type, but the client must know the type.
std::string content_type_of(const Bytes& result) {
  if (result.empty()) return {};
  const bool container = result.front() == '{' || result.front() == '[';
  if (container && json::Document().parse(result)) return "application/json";
  return is_utf8(result) ? "text/plain; charset=utf-8" : "application/octet-stream";
}

// True if the error text may be sent to the client: the message is at fault, or a handler wrote the
// text. Other error texts may quote data that only the store may hold.
bool is_for_sender(std::string_view reason) {
  return reason == reason::kKeyMissing || reason == reason::kKeyInvalid ||
         reason == reason::kPayloadInvalid || reason == reason::kTooLarge ||
         reason == reason::kHandlerNative;
}

std::string with_reason(const Outcome& outcome) {
  if (outcome.error.empty() || !is_for_sender(outcome.reason)) return outcome.reason;
  return outcome.reason.empty() ? outcome.error
                                : fmt::format("{}: {}", outcome.reason, outcome.error);
}

// If the message itself is at fault, its sender learns that, rather than that a handler gave up.
int status_of_dead(std::string_view reason) {
  if (reason == reason::kTooLarge) return 413;
  const bool unread = reason == reason::kKeyMissing || reason == reason::kKeyInvalid ||
                      reason == reason::kPayloadInvalid;
  return unread ? 400 : 422;
}

MessageAnswer given_up(const Outcome& outcome) {
  const int status = status_of_dead(outcome.reason);
  if (status == 413) {
    return error_answer(413, "R325", with_reason(outcome),
                        "send less; it is kept as a dead letter");
  }
  if (status == 400) {
    return error_answer(400, "R324", with_reason(outcome), "it is kept as a dead letter");
  }
  return error_answer(422, "R328", with_reason(outcome),
                      "it is kept as a dead letter: to send it again changes nothing");
}

// A message that the store keeps is retried from there; any other must be sent again.
MessageAnswer again_later(const Outcome& outcome) {
  if (outcome.settle == Outcome::Settle::kAck || outcome.settle == Outcome::Settle::kAcked) {
    return accepted();
  }
  return not_now(with_reason(outcome), outcome.delay);
}

HttpResponse problem_of(const MessageAnswer& answer,
                        const std::function<void(json::Writer&)>& more = nullptr) {
  constexpr const char* kRetryAfter = "Retry-After";
  HttpResponse response = http::problem(
      answer.status, {ErrorKind::kRejected, answer.code, answer.detail, answer.fix}, more);
  if (!answer.retry_after) return response;
  std::erase_if(response.headers, [](const auto& header) { return header.first == kRetryAfter; });
  const auto seconds = std::chrono::ceil<std::chrono::seconds>(*answer.retry_after).count();
  response.headers.emplace_back(kRetryAfter, std::to_string(std::max<std::int64_t>(seconds, 1)));
  return response;
}

// How much the sender must do about an event. Events that must wait rank highest, because the batch
// must be sent again.
int rank_of(const MessageAnswer& answer) {
  switch (answer.status) {
    case 200:
      return 0;
    case 202:
      return 1;
    case 409:
      return 3;
    case 504:
      return 4;
    case 503:
      return 5;
    default:
      return 2;
  }
}

void list_events(json::Writer& writer, std::span<const MessageAnswer> events) {
  writer.name("events").begin_array();
  for (std::size_t i = 0; i < events.size(); ++i) {
    const MessageAnswer& event = events[i];
    writer.begin_object().member("index", i).member("status", event.status);
    if (event.replayed) writer.member("replayed", true);
    if (!event.code.empty()) writer.member("code", event.code).member("detail", event.detail);
    writer.end_object();
  }
  writer.end_array();
}

}  // namespace

MessageAnswer answer_of(const Outcome& outcome) {
  switch (outcome.kind) {
    case Outcome::Kind::kDone:
    case Outcome::Kind::kDuplicate:
    case Outcome::Kind::kDiscarded:
      return {.result = outcome.result, .replayed = outcome.kind == Outcome::Kind::kDuplicate};
    case Outcome::Kind::kBusy:
      if (outcome.settle == Outcome::Settle::kRelease) return not_now("it was not begun", {});
      return retried_after(
          error_answer(409, "R327", "another worker has its key in hand", kAgainSameKey),
          outcome.delay);
    case Outcome::Kind::kConflict:
      return error_answer(422, "R328", outcome.error, "use a key once for one payload");
    case Outcome::Kind::kRetry:
      return again_later(outcome);
    case Outcome::Kind::kDead:
      return given_up(outcome);
    case Outcome::Kind::kParked:
      break;
  }
  return retried_after(
      error_answer(409, "R327", "its record waits for a person to decide: " + with_reason(outcome),
                   kAgainSameKey),
      outcome.delay);
}

MessageAnswer accepted() { return {.status = 202}; }

MessageAnswer not_now(std::string why, std::chrono::milliseconds delay) {
  return retried_after(error_answer(503, "R326", std::move(why), kAgainSameKey), delay);
}

MessageAnswer not_in_time() {
  return error_answer(504, "R329", "it is being handled, and its answer was not ready in time",
                      kAgainSameKey);
}

MessageAnswer not_taken(int status, std::string why, std::string fix) {
  return error_answer(status, "R324", std::move(why), std::move(fix));
}

MessageAnswer not_signed(std::string why) {
  return error_answer(403, "R323", "the signature: " + std::move(why), "sign it with the secret");
}

MessageAnswer too_large(std::size_t most) {
  return error_answer(413, "R325", fmt::format("the body may have {} bytes (limits.payload)", most),
                      "send less");
}

MessageAnswer too_many_events(std::size_t most) {
  return error_answer(413, "R325",
                      fmt::format("a batch may have {} events (max_batch, max_requests)", most),
                      "send fewer at a time");
}

MessageAnswer headers_too_large(std::size_t most) {
  return error_answer(
      413, "R325",
      fmt::format("each event of a batch has the request's headers, and all of these together may "
                  "have {} bytes (limits.payload)",
                  most),
      "send fewer events at a time, or fewer headers");
}

MessageAnswer too_slow() {
  return error_answer(408, "R326", "the request did not come whole in time", kAgainSameKey);
}

HttpResponse response_of(MessageAnswer answer) {
  HttpResponse response;
  if (answer.code.empty()) {
    response = {answer.status, content_type_of(answer.result), std::move(answer.result), {}};
    if (answer.replayed) response.headers.emplace_back("Idempotent-Replayed", "true");
    return response;
  }
  return problem_of(answer);
}

HttpResponse response_of_batch(std::span<const MessageAnswer> events) {
  const auto worst = std::ranges::max_element(events, {}, rank_of);
  if (worst == events.end() || worst->code.empty()) {
    json::Writer writer;
    writer.begin_object();
    list_events(writer, events);
    writer.end_object();
    return {
        worst == events.end() ? 200 : worst->status, "application/json", writer.text() + "\n", {}};
  }
  MessageAnswer answer = *worst;
  const auto undone =
      std::ranges::count_if(events, [](const MessageAnswer& one) { return !one.code.empty(); });
  answer.detail = fmt::format("{} of {} events failed; that at index {}: {}", undone, events.size(),
                              worst - events.begin(), worst->detail);
  answer.fix = kBatchAgain;
  for (const MessageAnswer& one : events) {
    answer.retry_after = std::max(answer.retry_after, one.retry_after);
  }
  return problem_of(answer, [&](json::Writer& writer) { list_events(writer, events); });
}

}  // namespace semel::sources
