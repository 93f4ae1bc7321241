#include "operate/views.h"

#include <algorithm>

#include "base/ascii.h"
#include "base/digest.h"
#include "base/json_mask.h"
#include "core/dead_letter_copy.h"
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

void add_size(json::Writer& writer, std::string_view name, BytesView bytes) {
  writer.member(std::string(name) + "_bytes", bytes.size());
}

void add_shown(json::Writer& writer, std::string_view name, BytesView bytes,
               const std::optional<std::string>& shown) {
  if (shown) {
    writer.bytes(name, *shown);
  } else {
    add_size(writer, name, bytes);
  }
}

void add_contents(json::Writer& writer, std::string_view name, BytesView bytes,
                  const core::Disclosure& shows) {
  add_shown(writer, name, bytes, shown_contents(bytes, shows));
}

void add_error(json::Writer& writer, std::string_view name, std::string_view error,
               const core::Disclosure& shows) {
  if (shows.errors == core::Disclosure::Errors::kText) {
    writer.member(name, error);
  } else {
    add_size(writer, name, error);
  }
}

void add_masked(json::Writer& writer, const core::Disclosure& shows) {
  if (shows.contents == core::Disclosure::Contents::kMasked) writer.member("masked", true);
}

void add_journal(json::Writer& writer, const StepJournal& journal,
                 const core::Disclosure& contents) {
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

void add_headers(json::Writer& writer, const Headers& headers, const core::Disclosure& shows) {
  writer.name("headers").begin_array();
  for (const auto& header : headers) {
    writer.begin_object().member("name", header.name);
    add_shown(writer, "value", header.value, shown_header(header, shows));
    writer.end_object();
  }
  writer.end_array();
}

}  // namespace

std::optional<std::string> shown_contents(BytesView bytes, const core::Disclosure& shows) {
  switch (shows.contents) {
    case core::Disclosure::Contents::kNone:
      return std::nullopt;
    case core::Disclosure::Contents::kMasked:
      return json::masked(bytes, shows.places);
    case core::Disclosure::Contents::kFull:
      return std::string(bytes);
  }
  return std::nullopt;
}

std::optional<std::string> shown_header(const Header& header, const core::Disclosure& shows) {
  const bool hidden = std::ranges::any_of(
      shows.headers, [&](const std::string& name) { return ascii::alike(name, header.name); });
  // A copy of a dead letter carries the error of the first one.
  const bool is_error = shows.errors == core::Disclosure::Errors::kCause &&
                        ascii::alike(header.name, core::kDeadLetterError);
  if (hidden || is_error || shows.contents == core::Disclosure::Contents::kNone) {
    return std::nullopt;
  }
  return header.value;
}

std::string shown_error(std::string_view reason, std::string_view error,
                        const core::Disclosure& shows) {
  return std::string(shows.errors == core::Disclosure::Errors::kText ? error
                                                                     : cause_of(reason, error));
}

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
                const RecordView& record, const StepJournal& journal,
                const core::Disclosure& shows) {
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
  if (!record.error.empty()) add_error(writer, "error", record.error, shows);
  if (record.outcome_unknown) writer.member("outcome_unknown", true);
  add_time(writer, time, "first_seen", record.first_seen);
  add_time(writer, time, "lease_until", record.lease_until);
  add_time(writer, time, "next_at", record.next_at);
  add_time(writer, time, "completed_at", record.completed_at);
  if (!record.result.empty()) add_contents(writer, "result", record.result, shows);
  add_journal(writer, journal, shows);
  if (!record.result.empty() || !journal.entries.empty()) add_masked(writer, shows);
  writer.end_object();
}

void add_dead_letter(json::Writer& writer, const TimeText& time, const DeadLetter& letter,
                     bool whole, const core::Disclosure& shows) {
  writer.begin_object().member("id", letter.id).member("consumer", letter.consumer);
  if (letter.key.empty()) {
    writer.name("key").null();
  } else {
    writer.bytes("key", letter.key);
  }
  writer.member("reason", letter.reason);
  add_cause(writer, letter.reason, letter.error);
  add_error(writer, "error", letter.error, shows);
  writer.member("attempts", letter.attempts).member("replayed", letter.replayed);
  writer.member("fingerprint", hex_of(letter.fingerprint.view()));
  writer.member("partition", letter.partition).member("position", letter.position);
  writer.member("first_seen", time(letter.first_seen));
  writer.member("dead_at", time(letter.dead_at));
  if (!letter.type.empty()) writer.member("type", letter.type);
  if (!letter.content_type.empty()) writer.member("content_type", letter.content_type);
  if (whole) {
    add_contents(writer, "payload", letter.payload, shows);
    add_headers(writer, letter.headers, shows);
    add_masked(writer, shows);
  }
  writer.end_object();
}

void add_letter_group(json::Writer& writer, const TimeText& time, const LetterGroup& group,
                      const core::Disclosure& shows) {
  writer.begin_object().member("consumer", group.consumer).member("reason", group.reason);
  if (!group.cause.empty()) writer.member("cause", group.cause);
  writer.member("count", group.count).member("oldest", time(group.oldest));
  writer.member("newest", time(group.newest)).member("newest_id", group.newest_id);
  add_error(writer, "newest_error", group.newest_error, shows);
  writer.end_object();
}

}  // namespace semel::operate
