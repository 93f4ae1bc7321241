#include "operate/views.h"

#include "base/digest.h"
#include "operate/cause.h"

namespace semel::operate {

namespace {

void add_time(json::Writer& writer, const TimeText& text, std::string_view name,
              const std::optional<StoreTime>& time) {
  if (time) writer.member(name, text(*time));
}

void add_cause(json::Writer& writer, std::string_view reason, std::string_view error) {
  const std::string_view cause = cause_of(reason, error);
  if (!cause.empty()) writer.member("cause", cause);
}

void add_contents(json::Writer& writer, std::string_view name, BytesView bytes, Contents contents) {
  if (contents == Contents::kShown) {
    writer.bytes(name, bytes);
  } else {
    writer.member(std::string(name) + "_bytes", bytes.size());
  }
}

void add_journal(json::Writer& writer, const StepJournal& journal, Contents contents) {
  if (journal.giving_up) writer.member("giving_up", true);
  if (journal.entries.empty()) return;
  writer.name("steps").begin_array();
  for (const StepEntry& entry : journal.entries) {
    writer.begin_object().member("name", entry.name);
    if (!entry.id.empty()) writer.bytes("id", entry.id);
    writer.member("state", state_word(entry));
    if (!entry.result.empty()) add_contents(writer, "result", entry.result, contents);
    writer.end_object();
  }
  writer.end_array();
}

void add_headers(json::Writer& writer, const Headers& headers, Contents contents) {
  writer.name("headers").begin_array();
  for (const auto& header : headers) {
    writer.begin_object().member("name", header.name);
    add_contents(writer, "value", header.value, contents);
    writer.end_object();
  }
  writer.end_array();
}

}  // namespace

json::Writer document(std::string_view name) {
  json::Writer writer;
  writer.begin_object().member("schema", "semel.v1." + std::string(name));
  return writer;
}

const char* state_word(const StepEntry& entry) noexcept {
  return entry.state == StepEntry::State::kDone ? "done" : "undone";
}

std::string gate_word(const std::optional<ShutGate>& gate) {
  if (!gate) return "open";
  return gate->until ? "shut" : "paused";
}

void add_gate(json::Writer& writer, const TimeText& time, const ShutGate& gate) {
  writer.member("why", gate.why).member("since", time(gate.since));
  if (gate.until) writer.member("until", time(*gate.until));
}

std::string hex_of(BytesView bytes) { return digest::hex(bytes); }

void add_record(json::Writer& writer, const TimeText& time, std::string_view consumer,
                const RecordView& record, const StepJournal& journal, Contents contents) {
  writer.begin_object().member("consumer", consumer);
  if (record.key.empty()) {
    writer.name("key").null();
  } else {
    writer.bytes("key", record.key);
  }
  writer.member("id", hex_of(record.id.view()));
  writer.member("state", to_string(record.state));
  writer.member("fingerprint", hex_of(record.fingerprint.view()));
  writer.member("attempt", record.attempt).member("token", record.token);
  if (!record.reason.empty()) writer.member("reason", record.reason);
  add_cause(writer, record.reason, record.error);
  if (!record.error.empty()) writer.member("error", record.error);
  if (record.outcome_unknown) writer.member("outcome_unknown", true);
  add_time(writer, time, "first_seen", record.first_seen);
  add_time(writer, time, "lease_until", record.lease_until);
  add_time(writer, time, "next_at", record.next_at);
  add_time(writer, time, "completed_at", record.completed_at);
  if (!record.result.empty()) add_contents(writer, "result", record.result, contents);
  add_journal(writer, journal, contents);
  writer.end_object();
}

void add_dead_letter(json::Writer& writer, const TimeText& time, const DeadLetter& letter,
                     bool whole, Contents contents) {
  writer.begin_object().member("id", letter.id).member("consumer", letter.consumer);
  if (letter.key.empty()) {
    writer.name("key").null();
  } else {
    writer.bytes("key", letter.key);
  }
  writer.member("reason", letter.reason);
  add_cause(writer, letter.reason, letter.error);
  writer.member("error", letter.error);
  writer.member("attempts", letter.attempts).member("replayed", letter.replayed);
  writer.member("fingerprint", hex_of(letter.fingerprint.view()));
  writer.member("partition", letter.partition).member("position", letter.position);
  writer.member("first_seen", time(letter.first_seen));
  writer.member("dead_at", time(letter.dead_at));
  if (!letter.type.empty()) writer.member("type", letter.type);
  if (!letter.content_type.empty()) writer.member("content_type", letter.content_type);
  if (whole) {
    add_contents(writer, "payload", letter.payload, contents);
    add_headers(writer, letter.headers, contents);
  }
  writer.end_object();
}

void add_letter_group(json::Writer& writer, const TimeText& time, const LetterGroup& group) {
  writer.begin_object().member("consumer", group.consumer).member("reason", group.reason);
  if (!group.cause.empty()) writer.member("cause", group.cause);
  writer.member("count", group.count).member("oldest", time(group.oldest));
  writer.member("newest", time(group.newest)).member("newest_id", group.newest_id);
  writer.member("newest_error", group.newest_error).end_object();
}

}  // namespace semel::operate
