#include "cli/delivery_view.h"

#include <fmt/format.h>

#include "base/digest.h"
#include "base/json_scan.h"
#include "cli/text.h"

namespace semel::cli {

namespace {

constexpr std::size_t kDeliveryErrorShown = 200;

std::string name_of(const tap::EndingView& ending) {
  if (ending.key) return printable(*ending.key, kDeliveryKeyShown);
  return printable(ending.partition, kDeliveryKeyShown) + " " +
         printable(ending.position, kDeliveryKeyShown);
}

std::string why(const tap::EndingView& ending) {
  std::string text = printable(ending.reason, kDeliveryErrorShown);
  if (!ending.error.empty()) {
    if (!text.empty()) text += ": ";
    text += printable(ending.error, kDeliveryErrorShown);
  }
  return text;
}

}  // namespace

std::string delivery_text(const Console& console, const tap::EndingView& ending,
                          std::string_view outcome, DeliveryDetail detail) {
  std::string line = fmt::format("{}  {:<9}  ", name_of(ending), outcome);
  bool first = true;
  const auto add = [&](std::string_view text) {
    if (!first) line += " · ";
    line += text;
    first = false;
  };
  if (ending.outcome == Outcome::Kind::kRetry || ending.outcome == Outcome::Kind::kBusy) {
    add("again in " + duration_text(ending.again_in));
  }
  if (ending.completed_at) add("of " + console.time(*ending.completed_at));
  if (const std::string reason = why(ending); !reason.empty()) add(reason);
  if (ending.took) add(took(*ending.took));
  if (detail.attempt && ending.attempt > 0) add(fmt::format("attempt {}", ending.attempt));
  if (detail.place && ending.key) {
    add(printable(ending.partition) + " " + printable(ending.position));
  }
  return line;
}

void add_delivery(json::Writer& writer, const Console& console, const tap::EndingView& ending) {
  writer.member("consumer", ending.consumer);
  if (ending.key) {
    writer.bytes("key", *ending.key);
  } else {
    writer.name("key").null();
  }
  writer.member("outcome", to_string(ending.outcome));
  if (!ending.reason.empty()) writer.member("reason", ending.reason);
  if (!ending.error.empty()) writer.member("error", ending.error);
  if (ending.completed_at) writer.member("completed_at", console.time(*ending.completed_at));
  if (ending.attempt > 0) writer.member("attempt", ending.attempt);
  if (ending.again_in.count() > 0) writer.member("again_in_ms", ending.again_in.count());
  writer.member("partition", ending.partition).member("position", ending.position);
  if (ending.took) {
    writer.member("took_us",
                  std::chrono::duration_cast<std::chrono::microseconds>(*ending.took).count());
  }
}

void add_payload(json::Writer& writer, BytesView payload, Body body) {
  if (body == Body::kNone) return;
  if (body == Body::kHex) {
    writer.member("payload_hex", digest::hex(payload));
  } else if (json::validate(payload)) {
    writer.name("payload_json").embed(payload);
  } else {
    writer.bytes("payload", payload);
  }
}

std::string payload_text(BytesView payload, Body body) {
  if (body == Body::kNone) return {};
  if (body == Body::kHex) return digest::hex(payload);
  return json::validate(payload) ? printable(json::compact(payload)) : printable(payload);
}

}  // namespace semel::cli
