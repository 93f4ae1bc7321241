#include "sources/http/answers.h"

#include <algorithm>
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

constexpr const char* kRetryAfter = "Retry-After";
constexpr const char* kAgainSameKey = "send it again, under the same key";

HttpResponse said(int status, const char* code, std::string why, std::string fix) {
  return http::problem(status, {ErrorKind::kRejected, code, std::move(why), std::move(fix)});
}

HttpResponse retried_after(HttpResponse response, std::chrono::milliseconds delay) {
  std::erase_if(response.headers, [](const auto& header) { return header.first == kRetryAfter; });
  const auto seconds = std::chrono::ceil<std::chrono::seconds>(delay).count();
  response.headers.emplace_back(kRetryAfter, std::to_string(std::max<std::int64_t>(seconds, 1)));
  return response;
}

// Handlers say bytes, and the answer's reader is to know what they are.
std::string content_type_of(const Bytes& result) {
  if (result.empty()) return {};
  const bool container = result.front() == '{' || result.front() == '[';
  if (container && json::Document().parse(result)) return "application/json";
  return is_utf8(result) ? "text/plain; charset=utf-8" : "application/octet-stream";
}

HttpResponse stored(const Outcome& outcome) {
  HttpResponse response{200, content_type_of(outcome.result), outcome.result, {}};
  if (outcome.kind == Outcome::Kind::kDuplicate) {
    response.headers.emplace_back("Idempotent-Replayed", "true");
  }
  return response;
}

// What is wrong with the message, or what a handler says to its sender. Other texts of errors may
// quote what is nobody's but the store's.
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

// The message itself is at fault: its sender is told so, and not that a handler gave it up.
int status_of_dead(std::string_view reason) {
  if (reason == reason::kTooLarge) return 413;
  const bool unread = reason == reason::kKeyMissing || reason == reason::kKeyInvalid ||
                      reason == reason::kPayloadInvalid;
  return unread ? 400 : 422;
}

HttpResponse given_up(const Outcome& outcome) {
  const int status = status_of_dead(outcome.reason);
  if (status == 413) {
    return said(413, "R325", with_reason(outcome), "send less; it is kept as a dead letter");
  }
  if (status == 400) {
    return said(400, "R324", with_reason(outcome), "it is kept as a dead letter");
  }
  return said(422, "R328", with_reason(outcome),
              "it is kept as a dead letter: to send it again changes nothing");
}

// A message that the store keeps is tried again from there; any other is its sender's.
HttpResponse again_later(const Outcome& outcome) {
  if (outcome.settle == Outcome::Settle::kAck || outcome.settle == Outcome::Settle::kAcked) {
    return accepted();
  }
  return not_now(with_reason(outcome), outcome.delay);
}

}  // namespace

HttpResponse answer_of(const Outcome& outcome) {
  switch (outcome.kind) {
    case Outcome::Kind::kDone:
    case Outcome::Kind::kDuplicate:
    case Outcome::Kind::kDiscarded:
      return stored(outcome);
    case Outcome::Kind::kBusy:
      if (outcome.settle == Outcome::Settle::kRelease) return not_now("it was not begun", {});
      return retried_after(said(409, "R327", "another worker has its key in hand", kAgainSameKey),
                           outcome.delay);
    case Outcome::Kind::kConflict:
      return said(422, "R328", outcome.error, "use a key once for one payload");
    case Outcome::Kind::kRetry:
      return again_later(outcome);
    case Outcome::Kind::kDead:
      return given_up(outcome);
    case Outcome::Kind::kParked:
      break;
  }
  return retried_after(
      said(409, "R327", "its record waits for a person to decide: " + with_reason(outcome),
           kAgainSameKey),
      outcome.delay);
}

HttpResponse accepted() { return {202, {}, {}, {}}; }

HttpResponse not_now(std::string why, std::chrono::milliseconds delay) {
  return retried_after(said(503, "R326", std::move(why), kAgainSameKey), delay);
}

HttpResponse not_in_time() {
  return said(504, "R329", "it is being handled, and its answer was not ready in time",
              kAgainSameKey);
}

HttpResponse not_taken(int status, std::string why, std::string fix) {
  return said(status, "R324", std::move(why), std::move(fix));
}

HttpResponse not_signed(std::string why) {
  return said(403, "R323", "the signature: " + std::move(why), "sign it with the secret");
}

HttpResponse too_large(std::size_t most) {
  return said(413, "R325", fmt::format("the body may have {} bytes (limits.payload)", most),
              "send less");
}

HttpResponse too_slow() {
  return said(408, "R326", "the request did not come whole in time", kAgainSameKey);
}

}  // namespace semel::sources
