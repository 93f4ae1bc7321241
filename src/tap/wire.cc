#include "tap/wire.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text_encoding.h"

namespace semel::tap {

namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

// Raised when a line changes its meaning; members may be added without it.
constexpr int kProtocol = 1;

Error bad(std::string message) {
  return {ErrorKind::kRejected, "", std::move(message),
          "the tap and the run: one version of semel"};
}

json::Writer begun() {
  json::Writer line;
  line.begin_object();
  return line;
}

std::string ended(json::Writer& line) { return line.end_object().text() + "\n"; }

std::int64_t count_of(StoreTime time) { return time.time_since_epoch().count(); }

}  // namespace

bool Request::wants(std::string_view of, Outcome::Kind outcome) const noexcept {
  if (of != consumer) return false;
  return outcomes.empty() || std::ranges::find(outcomes, outcome) != outcomes.end();
}

EndingView DeliveryEvent::view() const noexcept {
  EndingView view;
  view.consumer = consumer;
  if (key) view.key = *key;
  view.outcome = outcome;
  view.attempt = attempt;
  view.reason = reason;
  view.error = error;
  view.again_in = again_in;
  view.completed_at = completed_at;
  view.partition = partition;
  view.position = position;
  view.took = took;
  if (payload) view.payload = *payload;
  return view;
}

std::string line_of(const Request& request) {
  json::Writer line = begun();
  line.member("semel_tap", kProtocol).member("consumer", request.consumer);
  line.name("outcomes").begin_array();
  for (const Outcome::Kind kind : request.outcomes) line.value(to_string(kind));
  line.end_array().member("payload", request.payload);
  if (request.figures) line.member("figures", true);
  return ended(line);
}

std::string line_of(const Hello& hello) {
  json::Writer line = begun();
  line.member("semel_tap", kProtocol).member("pid", hello.pid);
  line.member("has_consumer", hello.has_consumer);
  return ended(line);
}

std::string line_of(const Refusal& refusal) {
  json::Writer line = begun();
  line.member("refused", refusal.why);
  return ended(line);
}

std::string line_of(const NotShown& not_shown) {
  json::Writer line = begun();
  line.member("not_shown", not_shown.count);
  return ended(line);
}

std::string line_of(Goodbye) {
  json::Writer line = begun();
  line.member("goodbye", true);
  return ended(line);
}

std::string line_of(const DeliveryEvent& event) {
  json::Writer line = begun();
  line.member("at", count_of(event.at)).member("consumer", event.consumer);
  line.member("outcome", to_string(event.outcome));
  if (event.key) line.bytes("key", *event.key);
  if (event.attempt > 0) line.member("attempt", event.attempt);
  if (!event.reason.empty()) line.member("reason", event.reason);
  if (!event.error.empty()) line.member("error", event.error);
  if (event.again_in.count() > 0) line.member("again_in", event.again_in.count());
  if (event.completed_at) line.member("completed_at", count_of(*event.completed_at));
  line.member("partition", event.partition).member("position", event.position);
  if (event.took) line.member("took", event.took->count());
  if (event.payload) line.bytes("payload", *event.payload);
  if (event.payload_too_long) line.member("payload_too_long", *event.payload_too_long);
  return ended(line);
}

std::string line_of(const Figures& figures) {
  json::Writer line = begun();
  line.name("figures").begin_array();
  for (const Figures::One& one : figures.all) {
    line.begin_object().member("consumer", one.consumer).member("source", one.source);
    line.member("name", one.figure.name).member("partition", one.figure.partition);
    line.member("value", one.figure.value).member("text", one.figure.text).end_object();
  }
  line.end_array();
  return ended(line);
}

DeliveryEvent event_of(const EndingView& view, StoreTime at, bool payload) {
  DeliveryEvent event;
  event.at = at;
  event.consumer = view.consumer;
  event.key = view.key;
  event.outcome = view.outcome;
  event.attempt = view.attempt;
  event.reason = view.reason;
  event.error = view.error;
  event.again_in = view.again_in;
  event.completed_at = view.completed_at;
  event.partition = view.partition;
  event.position = view.position;
  event.took = view.took;
  if (payload && view.payload.size() > kLongestPayload) {
    event.payload_too_long = view.payload.size();
  } else if (payload) {
    event.payload = view.payload;
  }
  return event;
}

Result<void> LineParser::begin(std::string_view line) {
  auto parsed = document_.parse(line);
  if (!parsed) return failure(bad("not JSON: " + parsed.error().message));
  return {};
}

bool LineParser::has(const char* pointer) const {
  const auto found = document_.at(json::Pointer::parse(pointer).value());
  return found && !std::holds_alternative<json::Absent>(*found);
}

Result<std::string> LineParser::text(const char* pointer) const {
  auto found = document_.at(json::Pointer::parse(pointer).value());
  if (!found) return failure(bad(found.error().message));
  if (auto* text = std::get_if<std::string>(&*found)) return std::move(*text);
  return failure(bad(fmt::format("{} is no string", pointer)));
}

Result<Bytes> LineParser::bytes(const std::string& pointer) const {
  const std::string coded = pointer + "_base64";
  if (!has(coded.c_str())) return text(pointer.c_str());
  const auto written = text(coded.c_str());
  if (!written) return failure(written.error());
  auto bytes = text::from_base64(*written);
  if (bytes) return std::move(*bytes);
  return failure(bad(fmt::format("{} is not base64", coded)));
}

Result<std::int64_t> LineParser::number(const char* pointer) const {
  const auto found = document_.at(json::Pointer::parse(pointer).value());
  if (!found) return failure(bad(found.error().message));
  const auto* number = std::get_if<json::Integer>(&*found);
  if (number != nullptr && number->value && *number->value >= 0) return *number->value;
  return failure(bad(fmt::format("{} is no whole number", pointer)));
}

bool LineParser::truth(const char* pointer) const {
  const auto found = document_.at(json::Pointer::parse(pointer).value());
  const bool* value = found ? std::get_if<bool>(&*found) : nullptr;
  return value != nullptr && *value;
}

Result<Request> LineParser::request(std::string_view line) {
  if (auto begun = begin(line); !begun) return failure(std::move(begun.error()));
  const auto protocol = number("/semel_tap");
  if (!protocol) return failure(bad("no request of semel tap"));
  if (*protocol != kProtocol) {
    return failure(bad(fmt::format("it speaks version {}, this run {}", *protocol, kProtocol)));
  }
  Request request;
  auto consumer = text("/consumer");
  if (!consumer) return failure(std::move(consumer.error()));
  request.consumer = *std::move(consumer);
  for (std::size_t i = 0;; ++i) {
    const std::string pointer = fmt::format("/outcomes/{}", i);
    if (!has(pointer.c_str())) break;
    const auto word = text(pointer.c_str());
    const auto outcome = word ? outcome_of(*word) : std::nullopt;
    if (!outcome) return failure(bad(fmt::format("{} is no outcome", pointer)));
    request.outcomes.push_back(*outcome);
  }
  request.payload = truth("/payload");
  request.figures = truth("/figures");
  return request;
}

Result<Said> LineParser::said(std::string_view line) {
  if (auto begun = begin(line); !begun) return failure(std::move(begun.error()));
  if (has("/refused")) {
    auto why = text("/refused");
    if (!why) return failure(std::move(why.error()));
    return Said(Refusal{*std::move(why)});
  }
  if (has("/semel_tap")) {
    const auto protocol = number("/semel_tap");
    const auto pid = number("/pid");
    if (!protocol || !pid) return failure(bad("no hello of a run"));
    if (*protocol != kProtocol) {
      return failure(bad(fmt::format("it speaks version {}, this tap {}", *protocol, kProtocol)));
    }
    return Said(Hello{*pid, truth("/has_consumer")});
  }
  if (has("/not_shown")) {
    const auto count = number("/not_shown");
    if (!count) return failure(count.error());
    return Said(NotShown{static_cast<std::uint64_t>(*count)});
  }
  if (has("/goodbye")) return Said(Goodbye{});
  if (has("/figures")) {
    auto read = figures();
    if (!read) return failure(std::move(read.error()));
    return Said(*std::move(read));
  }
  auto read = event();
  if (!read) return failure(std::move(read.error()));
  return Said(*std::move(read));
}

Result<Figures> LineParser::figures() {
  Figures made;
  for (std::size_t i = 0;; ++i) {
    const std::string at = fmt::format("/figures/{}", i);
    if (!has(at.c_str())) return made;
    Figures::One& one = made.all.emplace_back();
    const std::pair<const char*, std::string*> texts[] = {{"/consumer", &one.consumer},
                                                          {"/source", &one.source},
                                                          {"/name", &one.figure.name},
                                                          {"/partition", &one.figure.partition},
                                                          {"/text", &one.figure.text}};
    for (const auto& [name, into] : texts) {
      auto found = text((at + name).c_str());
      if (!found) return failure(std::move(found.error()));
      *into = *std::move(found);
    }
    const auto value = number((at + "/value").c_str());
    if (!value) return failure(value.error());
    one.figure.value = *value;
  }
}

Result<DeliveryEvent> LineParser::event() {
  DeliveryEvent event;
  std::optional<Error> wrong;
  const auto take_text = [&](const char* pointer, std::string& into) {
    auto found = has(pointer) ? text(pointer) : Result<std::string>(std::string());
    if (found) {
      into = *std::move(found);
    } else {
      wrong = std::move(found.error());
    }
  };
  const auto take_number = [&](const char* pointer) -> std::optional<std::int64_t> {
    if (!has(pointer)) return std::nullopt;
    const auto found = number(pointer);
    if (found) return *found;
    wrong = found.error();
    return std::nullopt;
  };
  const auto take_bytes = [&](const std::string& pointer) -> std::optional<Bytes> {
    if (!has(pointer.c_str()) && !has((pointer + "_base64").c_str())) return std::nullopt;
    auto found = bytes(pointer);
    if (found) return *std::move(found);
    wrong = std::move(found.error());
    return std::nullopt;
  };
  std::string outcome;
  take_text("/outcome", outcome);
  const auto kind = outcome_of(outcome);
  const auto at = take_number("/at");
  if (!kind || !at) return failure(bad("neither an ending nor anything else that a run says"));
  event.outcome = *kind;
  event.at = StoreTime(milliseconds(*at));
  take_text("/consumer", event.consumer);
  take_text("/reason", event.reason);
  take_text("/error", event.error);
  take_text("/partition", event.partition);
  take_text("/position", event.position);
  event.key = take_bytes("/key");
  event.payload = take_bytes("/payload");
  event.attempt = static_cast<int>(take_number("/attempt").value_or(0));
  event.again_in = milliseconds(take_number("/again_in").value_or(0));
  if (const auto time = take_number("/completed_at")) {
    event.completed_at = StoreTime(milliseconds(*time));
  }
  if (const auto time = take_number("/took")) event.took = nanoseconds(*time);
  if (const auto size = take_number("/payload_too_long")) {
    event.payload_too_long = static_cast<std::size_t>(*size);
  }
  if (wrong) return failure(*std::move(wrong));
  return event;
}

}  // namespace semel::tap
