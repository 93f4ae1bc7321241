#include "cli/run_report.h"

#include <fmt/format.h>

#include <iterator>

#include <semel/reason.h>

#include "cli/delivery_view.h"
#include "cli/text.h"

namespace semel::cli {

namespace {

static_assert(std::size(tap::kAllOutcomes) == RunCounts::kKinds);

// Details are shown from this many -v on.
constexpr int kDetail = 2;

// An unavailable store is reported once, by on_trouble, and not for each message that it delays. A
// parked message is reported when it is parked; its source may bring it again any number of times.
bool is_trouble(const tap::EndingView& ending) noexcept {
  if (ending.reason == reason::kStoreUnavailable) return false;
  switch (ending.outcome) {
    case Outcome::Kind::kConflict:
    case Outcome::Kind::kRetry:
    case Outcome::Kind::kDead:
      return true;
    case Outcome::Kind::kParked:
      return !ending.closed_before;
    default:
      return false;
  }
}

// A held message has no outcome yet, so it is reported like a busy one.
constexpr tap::EndingView kHeld = {.outcome = Outcome::Kind::kBusy};

LogLine line_of(LogLevel level, std::string_view consumer, std::string_view text,
                const Delivery* delivery) {
  LogLine line = log_line(level, text);
  line.consumer = consumer;
  if (delivery != nullptr) add_message(line, delivery->message);
  return line;
}

}  // namespace

std::uint64_t RunCounts::deliveries() const {
  std::uint64_t sum = refused;
  for (const auto count : ended) sum += count;
  return sum;
}

RunReport::RunReport(Console& console, std::size_t name_width, bool dry_run)
    : console_(console), name_width_(name_width), dry_run_(dry_run) {}

bool RunReport::says(const tap::EndingView& ending) const {
  const Format format = console_.format();
  if (format != Format::kText) return format == Format::kJsonl;
  return !console_.logs_json() && worth_a_line(ending);
}

bool RunReport::logs(const tap::EndingView& ending) const {
  return console_.logs_json() && worth_a_line(ending);
}

bool RunReport::worth_a_line(const tap::EndingView& ending) const {
  const Settings& settings = console_.settings();
  if (settings.quiet > 0) return false;
  return settings.verbose > 0 || dry_run_ || is_trouble(ending);
}

void RunReport::on_received(std::string_view, std::size_t deliveries) noexcept {
  received_.fetch_add(deliveries, std::memory_order_relaxed);
}

void RunReport::say(const tap::EndingView& ending, const Delivery* delivery) {
  if (logs(ending)) {
    LogLine line = log_line(ending, delivery);
    if (dry_run_ && ending.key) line.message = "would be " + line.message;
    console_.log(line);
  }
  if (!says(ending)) return;
  if (!console_.text()) {
    json::Writer line = document("delivery");
    add_delivery(line, console_, ending);
    console_.out(line.end_object());
    return;
  }
  const bool would = dry_run_ && ending.key;
  const bool detail = console_.settings().verbose >= kDetail;
  console_.out(fmt::format(
      "{}{:<{}}  {}\n", console_.stamp(), ending.consumer, name_width_,
      delivery_text(console_, ending,
                    fmt::format("{}{}", would ? "would be " : "", to_string(ending.outcome)),
                    {.attempt = detail, .place = detail})));
}

void RunReport::on_ended(std::string_view consumer, const Delivery& delivery,
                         const Outcome& outcome, std::chrono::nanoseconds time) noexcept {
  ended_[static_cast<std::size_t>(outcome.kind)].fetch_add(1, std::memory_order_relaxed);
  say(tap::view_of(consumer, delivery, outcome, time), &delivery);
}

void RunReport::on_refused(std::string_view consumer, const Arrival& arrival,
                           std::string_view reason, std::string_view error) noexcept {
  refused_.fetch_add(1, std::memory_order_relaxed);
  say(tap::view_of(consumer, arrival, reason, error), nullptr);
}

void RunReport::on_held(std::string_view consumer, const Delivery& delivery) noexcept {
  held_.fetch_add(1, std::memory_order_relaxed);
  if (logs(kHeld)) {
    console_.log(line_of(LogLevel::kDebug, consumer, "held in the store, for later", &delivery));
  }
  if (!says(kHeld)) return;
  if (console_.text()) {
    console_.out(fmt::format("{}{:<{}}  {}  {:<9}  in the store, for later\n", console_.stamp(),
                             consumer, name_width_,
                             printable(delivery.message.key().text, kDeliveryKeyShown), "held"));
    return;
  }
  json::Writer line = document("delivery");
  line.member("consumer", consumer).member("key", delivery.message.key().text);
  line.member("outcome", "held");
  line.member("partition", delivery.arrival.partition);
  line.member("position", delivery.arrival.position);
  console_.out(line.end_object());
}

void RunReport::on_lease_lost(std::string_view consumer, const Delivery& delivery) noexcept {
  if (console_.logs_json()) {
    return console_.log(line_of(LogLevel::kWarning, consumer,
                                "the lease was lost: its late result was refused", &delivery));
  }
  console_.note(fmt::format("semel: {}: lease of {} lost: its late result was refused", consumer,
                            printable(delivery.message.key().text, kDeliveryKeyShown)));
}

void RunReport::on_letters_expired(std::string_view consumer, std::size_t letters) noexcept {
  on_notice(consumer, counted(letters, "dead letter", "dead letters") + " past their time removed");
}

void RunReport::on_trouble(std::string_view consumer, std::string_view where, const Error& error,
                           bool mended) noexcept {
  if (console_.logs_json()) {
    LogLine line = mended ? log_line(LogLevel::kInfo, "works again") : log_line(error);
    line.consumer = consumer;
    line.component = where;
    return console_.log(line);
  }
  if (mended) {
    console_.warn(fmt::format("semel: {}: {} works again", consumer, where));
    return;
  }
  const std::string text = format_error(error, console_.color_err());
  console_.warn(fmt::format("semel: {}: {}: {}", consumer, where,
                            std::string_view(text).substr(0, text.find_last_not_of('\n') + 1)));
}

void RunReport::on_notice(std::string_view consumer, std::string_view text) noexcept {
  if (console_.logs_json()) {
    return console_.log(line_of(LogLevel::kInfo, consumer, text, nullptr));
  }
  console_.note(fmt::format("semel: {}: {}", consumer, text));
}

RunCounts RunReport::counts() const {
  RunCounts counts;
  counts.received = received_.load(std::memory_order_relaxed);
  counts.refused = refused_.load(std::memory_order_relaxed);
  counts.held = held_.load(std::memory_order_relaxed);
  for (std::size_t i = 0; i < RunCounts::kKinds; ++i) {
    counts.ended[i] = ended_[i].load(std::memory_order_relaxed);
  }
  return counts;
}

std::string summary_text(const RunCounts& counts, bool dry_run) {
  std::string text = counted(counts.deliveries(), "delivery", "deliveries");
  if (dry_run) return text + " looked at, nothing done";
  text += ", " + counted(counts.of(Outcome::Kind::kDone), "effect", "effects");
  const auto also = [&](std::uint64_t number, std::string_view one, std::string_view many) {
    if (number > 0) text += ", " + counted(number, one, many);
  };
  also(counts.of(Outcome::Kind::kDuplicate), "duplicate", "duplicates");
  also(counts.of(Outcome::Kind::kConflict), "conflict", "conflicts");
  also(counts.of(Outcome::Kind::kRetry), "retry", "retries");
  also(counts.of(Outcome::Kind::kBusy), "busy", "busy");
  also(counts.of(Outcome::Kind::kDead) + counts.refused, "dead", "dead");
  also(counts.of(Outcome::Kind::kParked), "parked", "parked");
  also(counts.of(Outcome::Kind::kDiscarded), "discarded", "discarded");
  also(counts.held, "held", "held");
  return text;
}

void add_counts(json::Writer& writer, const RunCounts& counts) {
  writer.member("deliveries", counts.deliveries());
  writer.member("effects", counts.of(Outcome::Kind::kDone));
  writer.member("duplicates", counts.of(Outcome::Kind::kDuplicate));
  writer.member("refused", counts.refused);
  writer.member("held", counts.held);
  writer.name("outcomes").begin_object();
  for (const auto kind : tap::kAllOutcomes) writer.member(to_string(kind), counts.of(kind));
  writer.end_object();
}

}  // namespace semel::cli
