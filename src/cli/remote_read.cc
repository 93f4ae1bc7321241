#include "cli/remote_read.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

namespace semel::cli {

namespace {

using operate::ConsumerStatus;

// Reads bytes written as digits; other text leaves the bytes zero.
template <class Id>
Id id_from(std::string_view hex) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  Id made;
  if (hex.size() != 2 * made.bytes.size()) return made;
  for (std::size_t i = 0; i < made.bytes.size(); ++i) {
    const auto high = kDigits.find(hex[2 * i]), low = kDigits.find(hex[2 * i + 1]);
    if (high == std::string_view::npos || low == std::string_view::npos) return Id{};
    made.bytes[i] = static_cast<unsigned char>(high << 4U | low);
  }
  return made;
}

RecordState state_from_word(std::string_view word) {
  for (const RecordState state : {RecordState::kConsuming, RecordState::kRetrying,
                                  RecordState::kParked, RecordState::kDead}) {
    if (word == to_string(state)) return state;
  }
  return RecordState::kCompleted;
}

int small_number(const JsonView& view, std::string_view member) {
  const std::int64_t number = view.number(member).value_or(0);
  return static_cast<int>(std::clamp<std::int64_t>(number, 0, std::numeric_limits<int>::max()));
}

// The bytes; if the API does not show them to this role, a text with their number.
Bytes contents(const JsonView& view, const std::string& member) {
  const auto size = view.number(member + "_bytes");
  return size ? fmt::format("({} bytes, which need the role operator)", *size) : view.bytes(member);
}

std::vector<operate::SourceView> sources_from(const JsonView& view, std::string_view member) {
  std::vector<operate::SourceView> all;
  for (const JsonView& one : view.objects(member)) {
    operate::SourceView source{one.number("pid").value_or(0), one.text("source"), {}};
    for (const JsonView& each : one.objects("figures")) {
      SourceFigure figure;
      figure.name = each.text("name");
      figure.partition = each.text("partition");
      figure.value = each.number("value").value_or(0);
      figure.text = each.text("text");
      source.figures.push_back(std::move(figure));
    }
    all.push_back(std::move(source));
  }
  return all;
}

std::optional<ShutGate> gate_from(const JsonView& view) {
  if (view.text("gate") == operate::gate_word(std::nullopt)) return std::nullopt;
  return ShutGate{view.text("why"), view.time("since").value_or(StoreTime()), view.time("until")};
}

ConsumerStatus consumer_from(const JsonView& view) {
  ConsumerStatus row;
  row.name = view.text("name");
  row.state = view.text("state");
  row.source = view.text("source");
  row.strategy = view.text("strategy");
  row.guarantee = view.text("guarantee");
  row.counts.consuming = view.count("consuming");
  row.counts.retrying = view.count("retrying");
  row.counts.parked = view.count("parked");
  row.counts.dead = view.count("dead");
  row.counts.held = view.count("held");
  row.counts.dead_letters = view.count("dead_letters");
  row.counts.oldest_waiting = view.time("oldest_waiting");
  row.counts.running_pids = view.numbers("running_pids");
  if (const auto age = view.number("oldest_waiting_ms"))
    row.oldest_age = std::chrono::milliseconds(*age);
  row.last = view.time("last_change");
  row.gate = gate_from(view);
  row.sources = sources_from(view, "sources");
  row.windows = sources_from(view, "windows");
  for (const JsonView& trouble : view.objects("troubles")) {
    operate::HealthView health;
    health.pid = trouble.number("pid").value_or(0);
    health.troubles.push_back({trouble.text("where"), trouble.time("since").value_or(StoreTime()),
                               trouble.text("error")});
    row.health.push_back(std::move(health));
  }
  return row;
}

}  // namespace

DeadLetter letter_from(const JsonView& view) {
  DeadLetter letter;
  letter.id = view.number("id").value_or(0);
  letter.consumer = view.text("consumer");
  letter.key = view.bytes("key");
  letter.fingerprint = id_from<Fingerprint>(view.text("fingerprint"));
  letter.reason = view.text("reason");
  letter.error = view.text("error");
  letter.attempts = small_number(view, "attempts");
  letter.partition = view.text("partition");
  letter.position = view.text("position");
  letter.payload = contents(view, "payload");
  for (const JsonView& header : view.objects("headers")) {
    letter.headers.push_back({header.text("name"), contents(header, "value")});
  }
  letter.content_type = view.text("content_type");
  letter.type = view.text("type");
  letter.first_seen = view.time("first_seen").value_or(StoreTime());
  letter.dead_at = view.time("dead_at").value_or(StoreTime());
  letter.replayed = small_number(view, "replayed");
  return letter;
}

RecordView record_from(const JsonView& view) {
  RecordView record;
  record.key = view.bytes("key");
  record.id = id_from<KeyId>(view.text("id"));
  record.state = state_from_word(view.text("state"));
  record.fingerprint = id_from<Fingerprint>(view.text("fingerprint"));
  record.attempt = small_number(view, "attempt");
  record.token = static_cast<std::uint64_t>(view.number("token").value_or(0));
  record.reason = view.text("reason");
  record.error = view.text("error");
  record.outcome_unknown = view.flag("outcome_unknown");
  record.first_seen = view.time("first_seen");
  record.lease_until = view.time("lease_until");
  record.next_at = view.time("next_at");
  record.completed_at = view.time("completed_at");
  record.result = contents(view, "result");
  return record;
}

StepJournal journal_from(const JsonView& view) {
  StepJournal journal;
  for (const JsonView& step : view.objects("steps")) {
    StepEntry entry;
    entry.name = step.text("name");
    entry.id = step.bytes("id");
    if (step.text("state") == "undone") entry.state = StepEntry::State::kUndone;
    journal.entries.push_back(std::move(entry));
  }
  if (view.flag("giving_up")) journal.giving_up.emplace();
  return journal;
}

operate::LetterGroup group_from(const JsonView& view) {
  operate::LetterGroup group;
  group.consumer = view.text("consumer");
  group.reason = view.text("reason");
  group.cause = view.text("cause");
  group.count = view.count("count");
  group.oldest = view.time("oldest").value_or(StoreTime());
  group.newest = view.time("newest").value_or(StoreTime());
  group.newest_id = view.number("newest_id").value_or(0);
  group.newest_error = view.text("newest_error");
  return group;
}

operate::LetterProgress progress_from(const JsonView& job) {
  operate::LetterProgress progress;
  if (job.number("total")) progress.total = job.count("total");
  progress.done = job.count("done");
  progress.skipped_completed = job.count("skipped_completed");
  progress.skipped_conflict = job.count("skipped_conflict");
  progress.gone = job.count("gone");
  progress.failed = job.count("failed");
  progress.last_error = job.text("last_error");
  progress.on_their_way = job.count("on_their_way");
  return progress;
}

operate::Status status_from(const JsonView& view) {
  const JsonView store = view.object("store");
  operate::Status made;
  made.where = store.text("where");
  made.schema_version = small_number(store, "schema_version");
  made.epoch = static_cast<std::uint64_t>(store.number("epoch").value_or(0));
  made.bytes = store.count("bytes");
  made.completed = store.count("completed");
  made.running_pids = view.numbers("running_pids");
  for (const JsonView& consumer : view.objects("consumers")) {
    made.consumers.push_back(consumer_from(consumer));
  }
  return made;
}

}  // namespace semel::cli
