#include "cli/views.h"

#include <fmt/format.h>

#include "cli/text.h"
#include "core/step_key.h"
#include "operate/cause.h"

namespace semel::cli {

namespace {

operate::TimeText times_of(const Console& console) {
  return [&console](StoreTime time) { return console.time(time); };
}

// The lines of a detail view, with aligned values.
class Lines {
 public:
  void add(std::string_view name, std::string_view value) {
    text_ += fmt::format("{:<13}{}\n", name, printable(value));
  }
  void add_unless_empty(std::string_view name, std::string_view value) {
    if (!value.empty()) add(name, value);
  }
  void add(const Console& console, std::string_view name, const std::optional<StoreTime>& time) {
    if (time) add(name, console.time(*time));
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

}  // namespace

void add_gate(json::Writer& writer, const Console& console, const ShutGate& gate) {
  operate::add_gate(writer, times_of(console), gate);
}

void add_record(json::Writer& writer, const Console& console, std::string_view consumer,
                const RecordView& record, const StepJournal& journal) {
  operate::add_record(writer, times_of(console), consumer, record, journal, core::Disclosure());
}

std::string record_text(const Console& console, std::string_view consumer, const RecordView& record,
                        const StepJournal& journal) {
  Lines lines;
  lines.add("consumer", consumer);
  lines.add("key", record.key.empty() ? "id " + hex_of(record.id.view()) : record.key);
  lines.add("state", to_string(record.state));
  lines.add_unless_empty("reason", record.reason);
  lines.add_unless_empty("cause", operate::cause_of(record.reason, record.error));
  lines.add_unless_empty("error", record.error);
  if (record.outcome_unknown) lines.add("outcome", "unknown: its effect may have been made");
  if (record.attempt > 0) lines.add("attempts", std::to_string(record.attempt));
  lines.add(console, "first seen", record.first_seen);
  lines.add(console, "lease until", record.lease_until);
  lines.add(console, "next try", record.next_at);
  lines.add(console, "completed", record.completed_at);
  lines.add("fingerprint", hex_of(record.fingerprint.view()));
  lines.add_unless_empty("result", record.result);
  for (const StepEntry& entry : journal.entries) {
    lines.add("step", fmt::format("{}: {}", core::step_name(entry.name, entry.id),
                                  operate::state_word(entry)));
  }
  if (journal.giving_up) lines.add("given up", "its steps are being undone");
  return lines.text();
}

void add_dead_letter(json::Writer& writer, const Console& console, const DeadLetter& letter,
                     bool payload) {
  operate::add_dead_letter(writer, times_of(console), letter, payload, core::Disclosure());
}

std::string dead_letter_text(const Console& console, const DeadLetter& letter) {
  Lines lines;
  lines.add("id", std::to_string(letter.id));
  lines.add("consumer", letter.consumer);
  lines.add("key", letter.key.empty() ? "none" : letter.key);
  lines.add("reason", letter.reason);
  lines.add_unless_empty("cause", operate::cause_of(letter.reason, letter.error));
  lines.add_unless_empty("error", letter.error);
  lines.add("attempts", std::to_string(letter.attempts));
  if (letter.replayed > 0) lines.add("replayed", fmt::format("{} times", letter.replayed));
  lines.add(console, "first seen", letter.first_seen);
  lines.add(console, "dead at", letter.dead_at);
  lines.add("from", letter.partition + " " + letter.position);
  lines.add_unless_empty("type", letter.type);
  lines.add_unless_empty("content type", letter.content_type);
  for (const auto& header : letter.headers) {
    lines.add("header", header.name + ": " + header.value);
  }
  lines.add("payload", letter.payload);
  return lines.text();
}

}  // namespace semel::cli
