// records forget and unlock: one grammar to say which.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cli/records.h"
#include "cli/text.h"

namespace semel::cli {

namespace {

constexpr std::size_t kKeyShown = 48;

using Kind = WhereField::Kind;
constexpr WhereField kRecordFields[] = {
    {"consumer"},
    {"state", Kind::kText, "consuming|completed|retrying|parked|dead"},
    {"key"},
    {"reason"},
    {"error"},
    {"attempt", Kind::kNumber},
    {"age", Kind::kAge}};

// Chosen by keys or by a filter.
struct ChosenRecords {
  std::vector<FoundRecord> records;
  Plan plan;

  void add(FoundRecord found) {
    const RecordView& record = found.record;
    plan.add(record.completed_at ? record.completed_at : record.first_seen, [&] {
      return fmt::format("{}  {}  {}  {}", found.consumer, printable(found.key, kKeyShown),
                         to_string(record.state), record.reason);
    });
    records.push_back(std::move(found));
  }
};

tl::unexpected<Ended> ended(int code) { return tl::unexpected<Ended>(Ended{code}); }

// The one record each key means, or an end: a key may be met under several consumers.
OrEnded<ChosenRecords> by_keys(Console& console, const Session& session, const RecordFlags& flags,
                               const std::vector<std::string>& consumers) {
  ChosenRecords chosen;
  for (const auto& key : flags.keys) {
    auto found = find_records(session, consumers, key);
    if (!found) return ended(console.fail(found.error()));
    if (found->size() > 1) {
      std::vector<std::string> names;
      for (const auto& one : *found) names.push_back(one.consumer);
      return ended(console.fail(
          kUsage,
          fmt::format("\"{}\" is a key of {}", printable(key, kKeyShown), fmt::join(names, ", ")),
          "--consumer NAME"));
    }
    if (found->empty()) {
      console.note(fmt::format("no record of \"{}\"", printable(key, kKeyShown)));
      ++chosen.plan.missing;
    } else {
      chosen.add(std::move(found->front()));
    }
  }
  return chosen;
}

// Unfinished records, dead and parked ones among them; completed ones where the key is named.
OrEnded<ChosenRecords> by_filter(Console& console, const Session& session, const RecordFlags& flags,
                                 const std::vector<std::string>& consumers) {
  const auto where = read_where(console, flags.bulk.where, record_fields());
  if (!where) return ended(where.error().code);
  const auto key = where->equal_to("key");
  if (!key && where->equal_to("state") == to_string(RecordState::kCompleted)) {
    return ended(console.fail(kUsage, "completed records are found by their key only",
                              "--where 'key=… and state=completed', or the key alone"));
  }
  const std::size_t limit =
      flags.bulk.limit > 0 ? flags.bulk.limit : std::numeric_limits<std::size_t>::max();
  std::vector<FoundRecord> matched;
  const auto take = [&](FoundRecord found) {
    if (matches(*where, found.consumer, found.record)) matched.push_back(std::move(found));
  };
  if (key) {
    auto found = find_records(session, consumers, *key);
    if (!found) return ended(console.fail(found.error()));
    for (FoundRecord& one : *found) take(std::move(one));
  }
  for (const std::string& consumer : key ? std::vector<std::string>() : consumers) {
    const auto number = session.facets.records->consumer(consumer);
    if (!number) return ended(console.fail(number.error()));
    if (!*number) continue;
    auto records = session.facets.records->list(**number, std::nullopt,
                                                std::numeric_limits<std::int32_t>::max());
    if (!records) return ended(console.fail(records.error()));
    for (RecordView& record : *records) take({consumer, record.key, std::move(record)});
  }
  std::ranges::stable_sort(matched, {},
                           [](const FoundRecord& found) { return found.record.first_seen; });
  ChosenRecords chosen;
  for (FoundRecord& found : matched) {
    if (chosen.records.size() < limit) chosen.add(std::move(found));
  }
  return chosen;
}

OrEnded<ChosenRecords> choose(Console& console, const Session& session, const RecordFlags& flags) {
  const bool narrowed = flags.bulk.where || flags.bulk.limit > 0;
  if (flags.keys.empty() != flags.bulk.where.has_value() || (!flags.keys.empty() && narrowed)) {
    return ended(console.fail(kUsage, "say which records: their keys, or --where FILTER",
                              "semel records list"));
  }
  const auto consumers = consumers_of(console, session, flags.consumer);
  if (!consumers) return ended(consumers.error().code);
  return flags.bulk.where ? by_filter(console, session, flags, *consumers)
                          : by_keys(console, session, flags, *consumers);
}

// What is done with one record: true where it was done, false where the record moved on.
using Change = Result<bool> (*)(RecordInspector& records, const RecordView& seen);

struct Verb {
  std::string_view name;   // of the summary
  std::string_view done;   // "forgotten"
  std::string_view asked;  // "Forget {}? …"
  std::string_view skipped;
  Change change;
};

int tell(Console& console, const Verb& verb, const Plan& plan, std::size_t changed,
         std::size_t skipped) {
  const bool dry_run = console.settings().dry_run;
  const std::size_t asked = plan.count + plan.missing;
  const std::size_t told = dry_run ? plan.count : changed;
  if (console.text()) {
    std::string text = fmt::format("{} {}{}", grouped(told), dry_run ? "would be " : "", verb.done);
    if (told != asked) text += fmt::format(" of {}", grouped(asked));
    if (skipped > 0) text += fmt::format("; {} {}", grouped(skipped), verb.skipped);
    console.out(text + "\n");
  } else {
    json::Writer writer = document(verb.name);
    writer.member("asked", asked);
    add_plan(writer, console, plan);
    console.out(writer.member(verb.done, changed).member("skipped", skipped).end_object());
  }
  if (plan.count == 0) return kNothing;
  if (told == asked) return kOk;
  return told == 0 ? kBad : kPartly;
}

int run_bulk(Console& console, const RecordFlags& flags, const Verb& verb) {
  const auto rate = read_rate(console, flags.bulk);
  if (!rate) return rate.error().code;
  auto session = open_session(console);
  if (!session) return session.error().code;
  const auto chosen = choose(console, *session, flags);
  if (!chosen) return chosen.error().code;
  const std::string question =
      fmt::format(fmt::runtime(verb.asked), counted(chosen->plan.count, "record", "records"));
  if (const auto code = agree(console, chosen->plan, question, "record", "records")) return *code;
  std::size_t changed = 0, skipped = 0;
  bool told = false;
  std::span<const FoundRecord> rest(chosen->records);
  if (console.settings().dry_run) rest = {};
  Pace pace(console, *rate, rest.size());
  while (!rest.empty()) {
    const auto part = rest.first(pace.next(rest.size()));
    rest = rest.subspan(part.size());
    for (const FoundRecord& one : part) {
      const auto done = verb.change(*session->facets.records, one.record);
      if (done && *done) {
        ++changed;
        continue;
      }
      ++skipped;
      if (done || told) continue;
      // One lease is one record's business; anything else would meet all the others too.
      told = true;
      console.fail(done.error());
      if (done.error().kind != ErrorKind::kBlocked || done.error().code != "R241") rest = {};
      if (rest.empty()) break;
    }
    pace.done(part.size());
  }
  return tell(console, verb, chosen->plan, changed, skipped);
}

Result<bool> forget_seen(RecordInspector& records, const RecordView& seen) {
  return records.forget_as(seen.id, seen.state, seen.token);
}
Result<bool> unlock_seen(RecordInspector& records, const RecordView& seen) {
  return records.unlock(seen.id);
}

constexpr Verb kForget = {"forget", "forgotten",
                          "Forget {}? What waits for its retry, or for a person, goes with its "
                          "record; the next delivery of such a key is handled as new.",
                          "moved on, or are being worked on", forget_seen};
constexpr Verb kUnlock = {"unlock", "unlocked", "Let {} be tried again, now?",
                          "are neither parked nor dead", unlock_seen};

void bulk_command(Program& program, CLI::App& family, const char* name, const char* description,
                  const Verb& verb) {
  auto flags = std::make_shared<RecordFlags>();
  auto& command =
      program.command({.name = name,
                       .description = description,
                       .flags = kConfigFlag | kOutput | kTime | kQuiet | kYes | kDryRun,
                       .parent = &family},
                      [flags, &verb](Console& console) { return run_bulk(console, *flags, verb); });
  command.add_option("KEY", flags->keys, "The keys as the producer wrote them");
  bulk_options(command, flags->bulk, record_fields());
  command.add_option("--consumer", flags->consumer, "Of this consumer only")->type_name("NAME");
}

}  // namespace

std::span<const WhereField> record_fields() noexcept { return kRecordFields; }

bool matches(const Where& where, std::string_view consumer, const RecordView& record) {
  const auto now =
      std::chrono::time_point_cast<std::chrono::milliseconds>(std::chrono::system_clock::now());
  return where.matches([&](std::string_view field) -> WhereValue {
    if (field == "consumer") return consumer;
    if (field == "state") return std::string_view(to_string(record.state));
    if (field == "key") return std::string_view(record.key);
    if (field == "reason") return std::string_view(record.reason);
    if (field == "error") return std::string_view(record.error);
    if (field == "attempt") return std::int64_t{record.attempt};
    const auto since = record.completed_at ? record.completed_at : record.first_seen;
    return since ? (now - *since).count() : std::int64_t{0};
  });
}

void add_records_bulk(Program& program, CLI::App& family) {
  bulk_command(program, family, "forget",
               "Remove records: the next delivery of such a key is handled as new", kForget);
  bulk_command(program, family, "unlock", "Let parked or dead records be tried again, now",
               kUnlock);
}

}  // namespace semel::cli
