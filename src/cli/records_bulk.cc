// records forget and unlock: the same flags choose the records.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include <semel/environment.h>
#include <semel/front.h>

#include "cli/records.h"
#include "cli/text.h"
#include "operate/record_changes.h"
#include "system/utc_clock.h"

namespace semel::cli {

namespace {

// Unfinished records, including dead and parked ones; completed ones only if the key is named.
OrEnded<ChosenRecords> by_filter(Console& console, const Session& session,
                                 const RecordFlags& flags) {
  const auto where = read_where(console, flags.bulk.where, record_fields());
  if (!where) return ended(where.error().code);
  const auto key = where->equal_to("key");
  if (!key && where->equal_to("state") == to_string(RecordState::kCompleted)) {
    return ended(console.fail(kUsage, "completed records are found by their key only",
                              "--where 'key=… and state=completed', or the key alone"));
  }
  const auto searched = searched_consumers(console, session, flags, *where);
  if (!searched) return ended(searched.error().code);
  const std::vector<std::string>& consumers = searched->consumers;
  const std::size_t limit =
      flags.bulk.limit > 0 ? flags.bulk.limit : std::numeric_limits<std::size_t>::max();
  std::vector<FoundRecord> matched;
  const auto take = [&](FoundRecord found) {
    if (matches(*where, found.consumer, found.record)) matched.push_back(std::move(found));
  };
  if (key) {
    auto found = find_records(session.access(), consumers, *key);
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
  const auto noted = note_foreign_records(console, session, *searched, *where);
  if (!noted) return ended(console.fail(noted.error()));
  return chosen;
}

OrEnded<ChosenRecords> by_keys(Console& console, const Session& session, const RecordFlags& flags) {
  const auto searched = searched_consumers(console, session, flags, {});
  if (!searched) return ended(searched.error().code);
  auto chosen = choose_by_keys(console, flags, [&](const std::string& key) {
    return find_records(session.access(), searched->consumers, key);
  });
  if (!chosen) return chosen;
  const auto noted = note_foreign_keys(console, session, *searched, flags.keys);
  if (!noted) return ended(console.fail(noted.error()));
  return chosen;
}

OrEnded<ChosenRecords> choose_records(Console& console, const Session& session,
                                      const RecordFlags& flags) {
  const bool narrowed = flags.bulk.where || flags.bulk.limit > 0;
  if (flags.keys.empty() != flags.bulk.where.has_value() || (!flags.keys.empty() && narrowed)) {
    const bool of_consumer = !flags.consumer.empty() && flags.keys.empty() && !flags.bulk.where;
    return ended(console.fail(kUsage, "say which records: their keys, or --where FILTER",
                              of_consumer ? fmt::format("all of {}: --where 'consumer={}'",
                                                        flags.consumer, flags.consumer)
                                          : "semel records list"));
  }
  return flags.bulk.where ? by_filter(console, session, flags) : by_keys(console, session, flags);
}

// Changes one record. False if the record has changed since it was seen.
using RecordChange = std::function<Result<bool>(const FoundRecord& seen)>;

struct Verb {
  std::string_view name;   // in the summary
  std::string_view done;   // "forgotten"
  std::string_view asked;  // "Forget {}? …"
  std::string_view skipped;
  // True if the verb applies to a record's state. `now` is set in a dry run: a lease that is over
  // by that time then counts as over. Otherwise the store decides about leases by its own clock.
  bool (*fits)(const RecordView& record, std::optional<StoreTime> now) = nullptr;
  bool makes_new = false;  // completed work may be handled again
};

bool leased(const RecordView& record, std::optional<StoreTime> now) {
  return now && record.state == RecordState::kConsuming &&
         record.lease_until > record.read_at.value_or(*now);
}
bool can_forget(const RecordView& record, std::optional<StoreTime> now) {
  return !leased(record, now);
}
bool can_unlock(const RecordView& record, std::optional<StoreTime>) {
  return record.state == RecordState::kParked || record.state == RecordState::kDead;
}
bool can_decide(const RecordView& record, std::optional<StoreTime> now) {
  const bool consuming = record.state == RecordState::kConsuming && !leased(record, now);
  return consuming || record.state == RecordState::kParked;
}

// Removes the records that the verb cannot change from the plan. Returns their number.
std::size_t leave_out_unfit(ChosenRecords& chosen, const Verb& verb, bool dry_run) {
  std::optional<StoreTime> now;
  if (dry_run) now = system::utc_now();
  ChosenRecords fit;
  fit.plan.missing = chosen.plan.missing;
  std::size_t unfit = 0;
  for (FoundRecord& found : chosen.records) {
    if (verb.fits(found.record, now)) {
      fit.add(std::move(found));
    } else {
      ++unfit;
    }
  }
  chosen = std::move(fit);
  return unfit;
}

// The records that were to be changed, by how that went.
struct Tried {
  std::size_t changed = 0;
  std::size_t skipped = 0;  // they are not what they were
  std::size_t refused = 0;
  std::set<std::string> codes;  // of the refusals
};

int report_changed(Console& console, const Verb& verb, const Plan& plan, const Tried& tried,
                   std::size_t unfit) {
  const bool dry_run = console.settings().dry_run;
  const std::size_t asked = plan.count + plan.missing + unfit;
  const std::size_t skipped = tried.skipped + unfit;
  const std::size_t told = dry_run ? plan.count : tried.changed;
  if (console.text()) {
    std::string text = fmt::format("{} {}{}", grouped(told), dry_run ? "would be " : "", verb.done);
    if (told != asked) text += fmt::format(" of {}", grouped(asked));
    if (skipped > 0) text += fmt::format("; {} skipped: {}", grouped(skipped), verb.skipped);
    if (tried.refused > 0) {
      text += fmt::format("; {} refused: {}", grouped(tried.refused), fmt::join(tried.codes, ", "));
    }
    console.out(text + "\n");
  } else {
    json::Writer writer = document(verb.name);
    writer.member("asked", asked);
    add_plan(writer, console, plan);
    console.out(writer.member(verb.done, tried.changed)
                    .member("skipped", skipped)
                    .member("refused", tried.refused)
                    .end_object());
  }
  if (told == asked && told > 0) return kOk;
  if (told > 0) return kPartly;
  return tried.refused > 0 ? kBad : kNothing;
}

// True if front windows of these records had to forget what they know.
Result<bool> reseal(const Session& session, const std::vector<FoundRecord>& records) {
  std::set<ConsumerNumber> consumers;
  for (const FoundRecord& one : records) consumers.insert(one.record.id.consumer());
  return operate::reseal_records(session.access(), consumers, system_environment());
}

// Asks, and carries out the plan. `reseal`, if given, makes the front windows of the records
// forget, before and after the change.
int carry_out(Console& console, const Verb& verb, ChosenRecords chosen,
              const std::optional<Rate>& rate, const RecordChange& change,
              const std::function<Result<bool>(const ChosenRecords&)>& reseal) {
  const std::size_t unfit = leave_out_unfit(chosen, verb, console.settings().dry_run);
  const std::string question =
      fmt::format(fmt::runtime(verb.asked), counted(chosen.plan.count, "record", "records"));
  if (const auto code = agree(console, chosen.plan, question, "record", "records")) return *code;
  Tried tried;
  std::span<const FoundRecord> rest(chosen.records);
  if (console.settings().dry_run) rest = {};
  const bool reseals = reseal != nullptr && !rest.empty();
  // Reseal before the change too, so that a kill in between leaves few stale answers.
  if (reseals) {
    if (auto first = reseal(chosen); !first) return console.fail(first.error());
  }
  Pace pace(console, rate, rest.size());
  while (!rest.empty()) {
    const auto part = rest.first(pace.next(rest.size()));
    rest = rest.subspan(part.size());
    for (const FoundRecord& one : part) {
      const auto done = change(one);
      if (done) {
        ++(*done ? tried.changed : tried.skipped);
        continue;
      }
      // Each kind of refusal is explained once.
      ++tried.refused;
      if (!tried.codes.insert(done.error().code).second) continue;
      // A lease concerns one record; any other error would affect the other records too.
      console.fail(done.error());
      const bool its_own = done.error().code == "R241" || done.error().code == "R242";
      if (its_own) continue;
      rest = {};
      break;
    }
    pace.done(part.size());
  }
  if (reseals) {
    const auto windows = reseal(chosen);
    if (!windows) {
      console.note("a front window may still call them completed: say it again");
      return console.fail(windows.error());
    }
    // When this function returns, no front window does.
    if (*windows) std::this_thread::sleep_for(kFrontTrusted);
  }
  return report_changed(console, verb, chosen.plan, tried, unfit);
}

int run_remote(Console& console, const RecordFlags& flags, const Verb& verb,
               const std::optional<Rate>& rate) {
  auto run = Remote::open(console);
  if (!run) return run.error().code;
  auto chosen = choose_remote_records(console, *run, flags);
  if (!chosen) return chosen.error().code;
  std::optional<int> refused;
  const auto change = [&](const FoundRecord& seen) {
    auto changed = change_remote_record(*run, verb.name, flags, seen);
    if (!changed && !refused) refused = exit_code_of(changed.error());
    return changed;
  };
  const int code = carry_out(console, verb, *std::move(chosen), rate, change, nullptr);
  // Nothing could be done: the run did not answer, or the role does not suffice.
  return code == kBad ? refused.value_or(code) : code;
}

int run_bulk(Console& console, const RecordFlags& flags, const Verb& verb) {
  const auto rate = read_rate(console, flags.bulk);
  if (!rate) return rate.error().code;
  if (console.settings().url) return run_remote(console, flags, verb, *rate);
  if (const auto code = refuse_why(console, flags.bulk)) return *code;
  auto session = open_session(console);
  if (!session) return session.error().code;
  auto chosen = choose_records(console, *session, flags);
  if (!chosen) return chosen.error().code;
  std::function<Result<bool>(const ChosenRecords&)> resealing;
  if (verb.makes_new) {
    resealing = [&](const ChosenRecords& some) { return reseal(*session, some.records); };
  }
  const auto change = [&](const FoundRecord& seen) -> Result<bool> {
    if (verb.makes_new) return operate::forget_record(session->access(), seen.record);
    if (!flags.as.empty()) return operate::decide_record(session->access(), seen.record, flags.as);
    return operate::unlock_record(session->access(), seen.record);
  };
  return carry_out(console, verb, *std::move(chosen), *rate, change, resealing);
}

constexpr Verb kForget = {"forget",
                          "forgotten",
                          "Forget {}? What waits for its retry, or for a person, goes with its "
                          "record; the next delivery of such a key is handled as new.",
                          "being worked on, or not what they were",
                          can_forget,
                          true};
constexpr Verb kDecide = {"unlock", "unlocked", "Say of {} what you know?",
                          "neither parked nor left by who had them", can_decide};
constexpr Verb kUnlock = {"unlock", "unlocked", "Let {} be tried again, now?",
                          "neither parked nor dead", can_unlock};

void bulk_command(Program& program, CLI::App& family, const char* name, const char* description,
                  const Verb& verb) {
  auto flags = std::make_shared<RecordFlags>();
  auto& command =
      program.command({.name = name,
                       .description = description,
                       .flags = kConfigFlag | kUrlFlag | kOutput | kTime | kQuiet | kYes | kDryRun,
                       .parent = &family},
                      [flags, &verb](Console& console) {
                        const bool decides = !flags->as.empty();
                        return run_bulk(console, *flags, decides ? kDecide : verb);
                      });
  if (&verb == &kUnlock) {
    command
        .add_option("--as", flags->as,
                    "What became of it, where that is not known to the record: done, retry or dead")
        ->check(CLI::IsMember({operate::kDone, operate::kRetry, operate::kDead}))
        ->option_text("WHAT");
  }
  command.add_option("KEY", flags->keys, "The keys as the producer wrote them");
  bulk_options(command, flags->bulk, record_fields());
  why_option(command, flags->bulk);
  consumer_option(command, *flags);
}

}  // namespace

void ChosenRecords::add(FoundRecord found) {
  const RecordView& record = found.record;
  plan.add(record.completed_at ? record.completed_at : record.first_seen, [&] {
    return fmt::format("{}  {}  {}  {}", found.consumer, printable(found.key, kRecordKeyShown),
                       to_string(record.state), record.reason);
  });
  records.push_back(std::move(found));
}

OrEnded<ChosenRecords> choose_by_keys(Console& console, const RecordFlags& flags,
                                      const RecordsOfKey& find) {
  ChosenRecords chosen;
  for (const auto& key : flags.keys) {
    auto found = find(key);
    if (!found) return ended(console.fail(found.error()));
    if (found->size() > 1) {
      std::vector<std::string> names;
      for (const auto& one : *found) names.push_back(one.consumer);
      return ended(
          console.fail(kUsage,
                       fmt::format("\"{}\" is a key of {}", printable(key, kRecordKeyShown),
                                   fmt::join(names, ", ")),
                       "--consumer NAME"));
    }
    if (found->empty()) {
      console.note(fmt::format("no record of \"{}\"", printable(key, kRecordKeyShown)));
      ++chosen.plan.missing;
    } else {
      chosen.add(std::move(found->front()));
    }
  }
  return chosen;
}

void add_records_bulk(Program& program, CLI::App& family) {
  bulk_command(program, family, "forget",
               "Remove records: the next delivery of such a key is handled as new", kForget);
  bulk_command(program, family, "unlock", "Let parked or dead records be tried again, now",
               kUnlock);
}

}  // namespace semel::cli
