#include "producer/try_end.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include <semel/reason.h>

#include "base/printable.h"

namespace semel::producer {

namespace {

using Kind = TryEnd::Kind;

constexpr std::string_view kHttp = "handler.http.";

bool needs_a_person(std::string_view reason) {
  static const std::array kOfBrokers = {
      reason::kafka_reason("topic"),
      reason::kafka_reason("denied"),
      reason::rabbitmq_reason("unroutable"),
      reason::rabbitmq_reason("exchange"),
      reason::rabbitmq_reason("denied"),
      reason::nats_reason("stream"),
      reason::nats_reason("denied"),
      reason::redis_streams_reason("stream"),
      reason::redis_streams_reason("denied"),
      reason::sqs_reason("queue"),
      reason::sqs_reason("denied"),
      reason::sqs_reason("credentials"),
      reason::sns_reason("topic"),
      reason::sns_reason("denied"),
      reason::sns_reason("credentials"),
  };
  // An endpoint that is at fault, gone or moved.
  constexpr std::array<std::string_view, 6> kStatuses = {"401", "403", "404", "405", "407", "410"};
  if (std::ranges::find(kOfBrokers, reason) != kOfBrokers.end()) return true;
  if (!reason.starts_with(kHttp)) return false;
  const std::string_view word = reason.substr(kHttp.size());
  return std::ranges::find(kStatuses, word) != kStatuses.end() ||
         (word.size() == 3 && word.front() == '3');
}

// librdkafka is given the time of the whole send, and tries again by itself until then.
bool had_its_time(std::string_view reason) {
  return reason == reason::kafka_reason("connect") || reason == reason::kafka_reason("timeout");
}

ErrorKind refusal(std::string_view reason) {
  return reason.ends_with("too_large") || reason == reason::kTooLarge ? ErrorKind::kLimit
                                                                      : ErrorKind::kRejected;
}

}  // namespace

TryEnd end_of(const Verdict& verdict) {
  TryEnd end;
  end.unknown = verdict.unknown();
  end.reason = verdict.code();
  switch (verdict.kind()) {
    case Verdict::Kind::kDone:
    case Verdict::Kind::kDiscard:  // it has it, and wants no more done
      end.answer = verdict.result();
      return end;
    case Verdict::Kind::kDead:
      end.kind = Kind::kFinal;
      break;
    case Verdict::Kind::kRetry:
      end.kind = needs_a_person(end.reason) ? Kind::kFinal
                 : had_its_time(end.reason) ? Kind::kTooLate
                                            : Kind::kAgain;
      end.after = verdict.after();
      end.asked = verdict.asked();
      break;
  }
  end.error.kind = end.kind == Kind::kFinal ? refusal(end.reason) : ErrorKind::kUnavailable;
  end.error.message = verdict.reason();
  return end;
}

TryEnd end_of(Error error) {
  TryEnd end;
  end.unknown = error.kind == ErrorKind::kInDoubt;
  const bool final = error.kind == ErrorKind::kRejected || error.kind == ErrorKind::kLimit;
  end.kind = final ? Kind::kFinal : Kind::kAgain;
  end.error = std::move(error);
  return end;
}

SendError send_error(Bytes key, const TryEnd& last, bool unknown) {
  SendError made;
  const std::string shown = printable_start(key, kMostKeyText);
  made.reason = last.reason;
  made.hint = last.error.hint;
  if (unknown) {
    made.kind = ErrorKind::kInDoubt;
    made.code = "R330";
    made.message =
        fmt::format("message \"{}\" may have arrived, or not: {}", shown, last.error.message);
    if (made.hint.empty()) made.hint = "send it again with this key";
  } else if (last.kind != Kind::kFinal) {
    made.kind = ErrorKind::kUnavailable;
    made.code = last.error.code.empty() ? "R331" : last.error.code;
    made.message =
        fmt::format("message \"{}\" was not sent in time: {}", shown, last.error.message);
  } else {
    made.kind = last.error.kind;
    made.code = last.error.code.empty() ? "R332" : last.error.code;
    made.message = fmt::format("message \"{}\" cannot be sent: {}", shown, last.error.message);
  }
  made.key = std::move(key);
  return made;
}

}  // namespace semel::producer
