#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/session.h"
#include "cli/text.h"
#include "cli/views.h"

namespace semel::cli {

namespace {

constexpr std::size_t kShownByDefault = 100;
constexpr std::size_t kKeyShown = 48;
constexpr std::size_t kErrorShown = 60;

struct RecordFlags {
  std::string consumer;
  std::string state;
  std::size_t limit = 0;
  std::vector<std::string> keys;
};

constexpr RecordState kUnfinished[] = {RecordState::kConsuming, RecordState::kRetrying,
                                       RecordState::kParked, RecordState::kDead};

// A record found by its key, under one consumer of the config.
struct Found {
  std::string consumer;
  Bytes key;
  RecordView record;
};

// The consumers a command is about: the one that was named, or all of the config's.
OrEnded<std::vector<std::string>> consumers_of(Console& console, const Session& session,
                                               const std::string& named) {
  std::vector<std::string> names;
  if (named.empty()) {
    for (const auto& consumer : session.config.consumers) names.push_back(consumer.name);
    return names;
  }
  const auto consumer = find_consumer(console, session.config, named);
  if (!consumer) return tl::unexpected<Ended>(consumer.error());
  names.push_back(named);
  return names;
}

Result<std::vector<Found>> find_records(const Session& session,
                                        const std::vector<std::string>& consumers,
                                        const Bytes& key) {
  std::vector<Found> found;
  for (const auto& consumer : consumers) {
    const auto number = session.facets.records->consumer(consumer);
    if (!number) return failure(number.error());
    if (!*number) continue;
    const auto* config = session.config.find(consumer);
    auto record = session.facets.records->show(config->key.id_of(**number, key));
    if (!record) return failure(std::move(record.error()));
    if (!*record) continue;
    if ((*record)->key.empty()) (*record)->key = key;
    found.push_back({consumer, key, std::move(**record)});
  }
  return found;
}

std::optional<RecordState> state_from(const std::string& word) {
  for (const auto state : kUnfinished) {
    if (word == to_string(state)) return state;
  }
  return std::nullopt;
}

int list(Console& console, const RecordFlags& flags) {
  const auto state = state_from(flags.state);
  if (!flags.state.empty() && !state) {
    const bool done = flags.state == to_string(RecordState::kCompleted);
    return console.fail(kUsage,
                        done ? "completed records are found by their key only"
                             : fmt::format("--state cannot be \"{}\"", flags.state),
                        done ? "semel records show KEY" : "consuming, retrying, parked or dead");
  }
  auto session = open_session(console);
  if (!session) return session.error().code;
  const auto consumers = consumers_of(console, *session, flags.consumer);
  if (!consumers) return consumers.error().code;
  const std::size_t everything = std::numeric_limits<std::int32_t>::max();
  const std::size_t limit = flags.limit > 0  ? flags.limit
                            : console.text() ? kShownByDefault
                                             : everything;
  std::vector<Found> found;
  for (const auto& consumer : *consumers) {
    const auto number = session->facets.records->consumer(consumer);
    if (!number) return console.fail(number.error());
    if (!*number || found.size() >= limit) continue;
    auto records = session->facets.records->list(**number, state, limit - found.size());
    if (!records) return console.fail(records.error());
    for (auto& record : *records) found.push_back({consumer, record.key, std::move(record)});
  }
  if (console.format() == Format::kJsonl) {
    for (const auto& one : found) {
      json::Writer line = document("record").name("record");
      add_record(line, console, one.consumer, one.record);
      console.out(line.end_object());
    }
  } else if (console.format() == Format::kJson) {
    json::Writer writer = document("records").name("records").begin_array();
    for (const auto& one : found) add_record(writer, console, one.consumer, one.record);
    console.out(writer.end_array().end_object());
  } else {
    Table table({"CONSUMER", "KEY", "STATE", "ATTEMPT", "REASON", "ERROR"});
    table.align_right(3);
    for (const auto& one : found) {
      table.row(
          {one.consumer,
           one.key.empty() ? "id " + hex_of(one.record.id.view()) : printable(one.key, kKeyShown),
           to_string(one.record.state), std::to_string(one.record.attempt), one.record.reason,
           printable(one.record.error, kErrorShown)});
    }
    if (!found.empty()) console.out(table.text());
    if (found.empty())
      console.note("no unfinished records; a completed one: semel records show KEY");
    if (found.size() == limit) console.note("there may be more: --limit N");
  }
  return kOk;
}

int show(Console& console, const RecordFlags& flags) {
  auto session = open_session(console);
  if (!session) return session.error().code;
  const auto consumers = consumers_of(console, *session, flags.consumer);
  if (!consumers) return consumers.error().code;
  const auto found = find_records(*session, *consumers, flags.keys.front());
  if (!found) return console.fail(found.error());
  if (console.text()) {
    for (const auto& one : *found) {
      if (&one != &found->front()) console.out("\n");
      console.out(record_text(console, one.consumer, one.record));
    }
  } else {
    json::Writer writer = document("records").name("records").begin_array();
    for (const auto& one : *found) add_record(writer, console, one.consumer, one.record);
    console.out(writer.end_array().end_object());
  }
  if (!found->empty()) return kOk;
  console.note(fmt::format("no record of \"{}\"", printable(flags.keys.front(), kKeyShown)));
  return kNothing;
}

// The one record each key means, or an end: a key may be met under several consumers.
OrEnded<std::vector<Found>> chosen(Console& console, const Session& session,
                                   const RecordFlags& flags) {
  const auto consumers = consumers_of(console, session, flags.consumer);
  if (!consumers) return tl::unexpected<Ended>(consumers.error());
  std::vector<Found> chosen;
  for (const auto& key : flags.keys) {
    auto found = find_records(session, *consumers, key);
    if (!found) return tl::unexpected<Ended>(Ended{console.fail(found.error())});
    if (found->size() > 1) {
      std::vector<std::string> names;
      for (const auto& one : *found) names.push_back(one.consumer);
      return tl::unexpected<Ended>(Ended{console.fail(
          kUsage,
          fmt::format("\"{}\" is a key of {}", printable(key, kKeyShown), fmt::join(names, ", ")),
          "--consumer NAME")});
    }
    if (found->empty()) {
      console.note(fmt::format("no record of \"{}\"", printable(key, kKeyShown)));
    } else {
      chosen.push_back(std::move(found->front()));
    }
  }
  return chosen;
}

int tell(Console& console, std::string_view name, std::string_view verb, std::size_t asked,
         std::size_t matched, std::size_t changed) {
  if (console.text()) {
    console.out(fmt::format("{} {}{}\n", grouped(changed), verb,
                            changed == asked ? "" : fmt::format(" of {}", grouped(asked))));
  } else {
    console.out(document(name)
                    .member("asked", asked)
                    .member("matched", matched)
                    .member(verb, changed)
                    .member("dry_run", console.settings().dry_run)
                    .end_object());
  }
  if (changed == asked) return kOk;
  if (matched == 0) return kNothing;
  return changed == 0 ? kBad : kPartly;
}

int forget(Console& console, const RecordFlags& flags) {
  auto session = open_session(console);
  if (!session) return session.error().code;
  const auto records = chosen(console, *session, flags);
  if (!records) return records.error().code;
  for (const auto& one : *records) {
    console.note(fmt::format("{}  {}  {}", one.consumer, printable(one.key, kKeyShown),
                             to_string(one.record.state)));
  }
  if (records->empty() || console.settings().dry_run) {
    return tell(console, "forget", "forgotten", flags.keys.size(), records->size(),
                console.settings().dry_run ? records->size() : 0);
  }
  switch (
      console.confirm(fmt::format("Forget {}? The next delivery of such a key is handled as new.",
                                  counted(records->size(), "record", "records")))) {
    case Console::Answer::kCannotAsk:
      return kUsage;
    case Console::Answer::kNo:
      return kBad;
    case Console::Answer::kYes:
      break;
  }
  std::size_t forgotten = 0;
  for (const auto& one : *records) {
    const auto gone = session->facets.records->forget(one.record.id);
    if (!gone) {
      console.fail(gone.error());
    } else if (*gone) {
      ++forgotten;
    }
  }
  return tell(console, "forget", "forgotten", flags.keys.size(), records->size(), forgotten);
}

int unlock(Console& console, const RecordFlags& flags) {
  auto session = open_session(console);
  if (!session) return session.error().code;
  const auto records = chosen(console, *session, flags);
  if (!records) return records.error().code;
  std::size_t unlocked = 0;
  for (const auto& one : *records) {
    const auto done = session->facets.records->unlock(one.record.id);
    if (!done) return console.fail(done.error());
    if (*done) {
      ++unlocked;
    } else {
      console.warn(fmt::format("{} is {}: only what is parked or dead can be unlocked",
                               printable(one.key, kKeyShown), to_string(one.record.state)));
    }
  }
  return tell(console, "unlock", "unlocked", flags.keys.size(), records->size(), unlocked);
}

void consumer_option(CLI::App& command, RecordFlags& flags) {
  command.add_option("--consumer", flags.consumer, "Of this consumer only")->type_name("NAME");
}

}  // namespace

void add_records(Program& program) {
  auto& family = program.family(
      {.name = "records", .description = "What is known of keys", .group = "Operate"});
  auto flags = std::make_shared<RecordFlags>();
  const unsigned shared = kConfigFlag | kOutput | kTime | kQuiet;

  auto& list_command =
      program.command({.name = "list",
                       .description = "Unfinished records, and those that are parked or dead",
                       .flags = shared,
                       .parent = &family},
                      [flags](Console& console) { return list(console, *flags); });
  consumer_option(list_command, *flags);
  list_command.add_option("--state", flags->state, "Only consuming, retrying, parked or dead ones")
      ->type_name("STATE");
  list_command
      .add_option("--limit", flags->limit, "At most so many (default: a hundred as text, else all)")
      ->type_name("N");

  auto& show_command = program.command(
      {.name = "show", .description = "The record of a key", .flags = shared, .parent = &family},
      [flags](Console& console) { return show(console, *flags); });
  show_command.add_option("KEY", flags->keys, "The key as the producer wrote it")
      ->required()
      ->expected(1);
  consumer_option(show_command, *flags);

  auto& forget_command = program.command(
      {.name = "forget",
       .description = "Remove records: the next delivery of such a key is handled as new",
       .flags = shared | kYes | kDryRun,
       .parent = &family},
      [flags](Console& console) { return forget(console, *flags); });
  forget_command.add_option("KEY", flags->keys, "The keys as the producer wrote them")->required();
  consumer_option(forget_command, *flags);

  auto& unlock_command =
      program.command({.name = "unlock",
                       .description = "Let a parked or dead record be tried again, now",
                       .flags = shared,
                       .parent = &family},
                      [flags](Console& console) { return unlock(console, *flags); });
  unlock_command.add_option("KEY", flags->keys, "The keys as the producer wrote them")->required();
  consumer_option(unlock_command, *flags);
}

}  // namespace semel::cli
