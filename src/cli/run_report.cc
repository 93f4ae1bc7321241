#include "cli/run_report.h"

#include <fmt/format.h>

#include <iterator>
#include <optional>

#include "cli/text.h"

namespace semel::cli {

namespace {

constexpr std::size_t kKeyShown = 64;
constexpr std::size_t kErrorShown = 200;
constexpr Outcome::Kind kAllKinds[] = {Outcome::Kind::kDone,     Outcome::Kind::kDuplicate,
                                       Outcome::Kind::kBusy,     Outcome::Kind::kConflict,
                                       Outcome::Kind::kRetry,    Outcome::Kind::kDead,
                                       Outcome::Kind::kDiscarded};
static_assert(std::size(kAllKinds) == RunCounts::kKinds);

std::string why(const Outcome& outcome) {
  std::string text = outcome.reason;
  if (!outcome.error.empty()) {
    if (!text.empty()) text += ": ";
    text += printable(outcome.error, kErrorShown);
  }
  return text;
}

// Of a duplicate: when its effect was recorded.
std::optional<StoreTime> completed_at(const Outcome& outcome) {
  if (outcome.completed_at == std::chrono::system_clock::time_point{}) return std::nullopt;
  return std::chrono::time_point_cast<std::chrono::milliseconds>(outcome.completed_at);
}

}  // namespace

std::uint64_t RunCounts::deliveries() const {
  std::uint64_t sum = refused;
  for (const auto count : ended) sum += count;
  return sum;
}

RunReport::RunReport(Console& console, std::size_t name_width, bool dry_run)
    : console_(console), name_width_(name_width), dry_run_(dry_run) {}

bool RunReport::says_deliveries() const {
  const Format format = console_.format();
  return format == Format::kJsonl || (format == Format::kText && console_.settings().quiet == 0);
}

void RunReport::on_received(std::string_view, std::size_t deliveries) noexcept {
  received_.fetch_add(deliveries, std::memory_order_relaxed);
}

std::string RunReport::text_line(std::string_view consumer, const Delivery& delivery,
                                 const Outcome& outcome, std::chrono::nanoseconds time) const {
  const std::string word = dry_run_ ? fmt::format("would be {}", to_string(outcome.kind))
                                    : std::string(to_string(outcome.kind));
  std::string line = fmt::format("{:<{}}  {}  {:<9}  ", consumer, name_width_,
                                 printable(delivery.message.key().text, kKeyShown), word);
  const bool waits = outcome.kind == Outcome::Kind::kRetry || outcome.kind == Outcome::Kind::kBusy;
  if (waits) line += fmt::format("again in {} · ", duration_text(outcome.delay));
  if (const auto of = completed_at(outcome)) line += fmt::format("of {} · ", console_.time(*of));
  const std::string reason = why(outcome);
  if (!reason.empty()) line += reason + " · ";
  line += took(time);
  if (console_.settings().verbose > 0) {
    if (outcome.attempt > 0) line += fmt::format(" · attempt {}", outcome.attempt);
    line += fmt::format(" · {} {}", delivery.arrival.partition, delivery.arrival.position);
  }
  return line + "\n";
}

void RunReport::on_ended(std::string_view consumer, const Delivery& delivery,
                         const Outcome& outcome, std::chrono::nanoseconds time) noexcept {
  ended_[static_cast<std::size_t>(outcome.kind)].fetch_add(1, std::memory_order_relaxed);
  if (!says_deliveries()) return;
  if (console_.text()) {
    console_.out(text_line(consumer, delivery, outcome, time));
    return;
  }
  json::Writer line = document("delivery");
  line.member("consumer", consumer).member("key", delivery.message.key().text);
  line.member("outcome", to_string(outcome.kind));
  if (!outcome.reason.empty()) line.member("reason", outcome.reason);
  if (!outcome.error.empty()) line.member("error", outcome.error);
  if (const auto of = completed_at(outcome)) line.member("completed_at", console_.time(*of));
  if (outcome.attempt > 0) line.member("attempt", outcome.attempt);
  if (outcome.delay.count() > 0) line.member("again_in_ms", outcome.delay.count());
  line.member("partition", delivery.arrival.partition);
  line.member("position", delivery.arrival.position);
  line.member("took_us", std::chrono::duration_cast<std::chrono::microseconds>(time).count());
  console_.out(line.end_object());
}

void RunReport::on_refused(std::string_view consumer, const Arrival& arrival,
                           std::string_view reason, std::string_view error) noexcept {
  refused_.fetch_add(1, std::memory_order_relaxed);
  if (!says_deliveries()) return;
  if (console_.text()) {
    console_.out(fmt::format("{:<{}}  {} {}  {:<9}  {}: {}\n", consumer, name_width_,
                             printable(arrival.partition, kKeyShown),
                             printable(arrival.position, kKeyShown), "dead", reason,
                             printable(error, kErrorShown)));
    return;
  }
  json::Writer line = document("delivery");
  line.member("consumer", consumer).name("key").null().member("outcome", "dead");
  line.member("reason", reason).member("error", error);
  line.member("partition", arrival.partition).member("position", arrival.position);
  console_.out(line.end_object());
}

void RunReport::on_held(std::string_view consumer, const Delivery& delivery) noexcept {
  held_.fetch_add(1, std::memory_order_relaxed);
  if (!says_deliveries()) return;
  if (console_.text()) {
    console_.out(fmt::format("{:<{}}  {}  {:<9}  in the store, for later\n", consumer, name_width_,
                             printable(delivery.message.key().text, kKeyShown), "held"));
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
  console_.note(fmt::format("semel: {}: lease of {} lost: its late result was refused", consumer,
                            printable(delivery.message.key().text, kKeyShown)));
}

void RunReport::on_trouble(std::string_view consumer, std::string_view where, const Error& error,
                           bool mended) noexcept {
  if (mended) {
    console_.warn(fmt::format("semel: {}: {} works again", consumer, where));
    return;
  }
  const std::string text = format_error(error, console_.color_err());
  console_.warn(fmt::format("semel: {}: {}: {}", consumer, where,
                            std::string_view(text).substr(0, text.find_last_not_of('\n') + 1)));
}

void RunReport::on_notice(std::string_view consumer, std::string_view text) noexcept {
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
  for (const auto kind : kAllKinds) writer.member(to_string(kind), counts.of(kind));
  writer.end_object();
}

}  // namespace semel::cli
