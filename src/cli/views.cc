#include "cli/views.h"

#include <fmt/format.h>

#include "base/digest.h"
#include "base/text_encoding.h"
#include "base/utf8.h"
#include "cli/cause.h"
#include "cli/text.h"
#include "core/step_key.h"

namespace semel::cli {

namespace {

void add_time(json::Writer& writer, const Console& console, std::string_view name,
              const std::optional<StoreTime>& time) {
  if (time) writer.member(name, console.time(*time));
}

void add_cause(json::Writer& writer, std::string_view reason, std::string_view error) {
  const std::string_view cause = cause_of(reason, error);
  if (!cause.empty()) writer.member("cause", cause);
}

// The lines of a detail view, their names aligned.
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

std::string gate_word(const std::optional<ShutGate>& gate) {
  if (!gate) return "open";
  return gate->until ? "shut" : "paused";
}

void add_gate(json::Writer& writer, const Console& console, const ShutGate& gate) {
  writer.member("why", gate.why).member("since", console.time(gate.since));
  if (gate.until) writer.member("until", console.time(*gate.until));
}

std::string hex_of(BytesView bytes) { return digest::hex(bytes); }

void add_bytes(json::Writer& writer, std::string_view name, BytesView bytes) {
  writer.bytes(name, bytes);
}

namespace {

const char* state_word(const StepEntry& entry) {
  return entry.state == StepEntry::State::kDone ? "done" : "undone";
}

void add_journal(json::Writer& writer, const StepJournal& journal) {
  if (journal.giving_up) writer.member("giving_up", true);
  if (journal.entries.empty()) return;
  writer.name("steps").begin_array();
  for (const StepEntry& entry : journal.entries) {
    writer.begin_object().member("name", entry.name);
    if (!entry.id.empty()) add_bytes(writer, "id", entry.id);
    writer.member("state", state_word(entry));
    if (!entry.result.empty()) add_bytes(writer, "result", entry.result);
    writer.end_object();
  }
  writer.end_array();
}

}  // namespace

void add_record(json::Writer& writer, const Console& console, std::string_view consumer,
                const RecordView& record, const StepJournal& journal) {
  writer.begin_object().member("consumer", consumer);
  if (record.key.empty()) {
    writer.name("key").null();
  } else {
    add_bytes(writer, "key", record.key);
  }
  writer.member("id", hex_of(record.id.view()));
  writer.member("state", to_string(record.state));
  writer.member("fingerprint", hex_of(record.fingerprint.view()));
  writer.member("attempt", record.attempt).member("token", record.token);
  if (!record.reason.empty()) writer.member("reason", record.reason);
  add_cause(writer, record.reason, record.error);
  if (!record.error.empty()) writer.member("error", record.error);
  if (record.outcome_unknown) writer.member("outcome_unknown", true);
  add_time(writer, console, "first_seen", record.first_seen);
  add_time(writer, console, "lease_until", record.lease_until);
  add_time(writer, console, "next_at", record.next_at);
  add_time(writer, console, "completed_at", record.completed_at);
  if (!record.result.empty()) add_bytes(writer, "result", record.result);
  add_journal(writer, journal);
  writer.end_object();
}

std::string record_text(const Console& console, std::string_view consumer, const RecordView& record,
                        const StepJournal& journal) {
  Lines lines;
  lines.add("consumer", consumer);
  lines.add("key", record.key.empty() ? "id " + hex_of(record.id.view()) : record.key);
  lines.add("state", to_string(record.state));
  lines.add_unless_empty("reason", record.reason);
  lines.add_unless_empty("cause", cause_of(record.reason, record.error));
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
    lines.add("step",
              fmt::format("{}: {}", core::step_name(entry.name, entry.id), state_word(entry)));
  }
  if (journal.giving_up) lines.add("given up", "its steps are being undone");
  return lines.text();
}

void add_dead_letter(json::Writer& writer, const Console& console, const DeadLetter& letter,
                     bool payload) {
  writer.begin_object().member("id", letter.id).member("consumer", letter.consumer);
  if (letter.key.empty()) {
    writer.name("key").null();
  } else {
    add_bytes(writer, "key", letter.key);
  }
  writer.member("reason", letter.reason);
  add_cause(writer, letter.reason, letter.error);
  writer.member("error", letter.error);
  writer.member("attempts", letter.attempts).member("replayed", letter.replayed);
  writer.member("fingerprint", hex_of(letter.fingerprint.view()));
  writer.member("partition", letter.partition).member("position", letter.position);
  writer.member("first_seen", console.time(letter.first_seen));
  writer.member("dead_at", console.time(letter.dead_at));
  if (!letter.type.empty()) writer.member("type", letter.type);
  if (!letter.content_type.empty()) writer.member("content_type", letter.content_type);
  if (payload) {
    add_bytes(writer, "payload", letter.payload);
    writer.name("headers").begin_array();
    for (const auto& header : letter.headers) {
      writer.begin_object().member("name", header.name);
      add_bytes(writer, "value", header.value);
      writer.end_object();
    }
    writer.end_array();
  }
  writer.end_object();
}

std::string dead_letter_text(const Console& console, const DeadLetter& letter) {
  Lines lines;
  lines.add("id", std::to_string(letter.id));
  lines.add("consumer", letter.consumer);
  lines.add("key", letter.key.empty() ? "none" : letter.key);
  lines.add("reason", letter.reason);
  lines.add_unless_empty("cause", cause_of(letter.reason, letter.error));
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
