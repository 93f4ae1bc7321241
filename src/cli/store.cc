#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <fstream>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "cli/command.h"
#include "cli/session.h"
#include "cli/store_functions.h"
#include "cli/text.h"
#include "compose/compose.h"
#include "compose/letter_expiry.h"

namespace semel::cli {

namespace {

constexpr std::chrono::milliseconds kSweepTurn{500};
// The offset of the journal mode in the header of an SQLite file, and its two values.
constexpr std::streamoff kModeAt = 18;
constexpr char kRollbackJournal = 1;

enum class Before { kMissing, kRollbackJournal, kOther };

// Finds out whether a server's database has Semel's tables.
Before look_at(const config::Config& config) {
  const auto* sqlite = std::get_if<SqliteOptions>(&config.store.kind);
  if (sqlite == nullptr) {
    const auto change = compose::schema_change(config.store);
    return change && change->from == 0 ? Before::kMissing : Before::kOther;
  }
  std::ifstream file(sqlite->path, std::ios::binary);
  if (!file) return Before::kMissing;
  file.seekg(kModeAt);
  char mode = 0;
  if (!file.get(mode)) return Before::kOther;
  return mode == kRollbackJournal ? Before::kRollbackJournal : Before::kOther;
}

int init_store(Console& console, const FunctionFlags& flags) {
  auto config = load_store_config(console);
  if (!config) return config.error().code;
  const auto others = consumers_of(console, *config, flags);
  if (!others) return others.error().code;
  const Before before = look_at(*config);
  auto session = open_session(console, std::move(*config), Create::kYes);
  if (!session) return session.error().code;
  std::vector<std::string> names;
  for (const auto& consumer : session->config.consumers) {
    const auto number = compose::attach(*session->store, consumer);
    if (!number) return console.fail(number.error());
    names.push_back(consumer.name);
  }
  for (const FunctionConsumer& consumer : *others) {
    const auto registered = register_consumer(*session->store, consumer);
    if (!registered) return console.fail(registered.error());
    names.push_back(consumer.spec.name);
  }
  const auto functions = change_functions(console, session->config.store, flags);
  if (!functions) return functions.error().code;
  const auto stats = session->facets.records->stats();
  if (!stats) return console.fail(stats.error());
  const bool to_wal =
      before == Before::kRollbackJournal && look_at(session->config) == Before::kOther;
  if (console.text()) {
    console.out(fmt::format("{}: {}, schema {}\n", session->where,
                            before == Before::kMissing ? "made" : "ready", stats->schema_version));
    if (to_wal) {
      console.out(
          "  its journal mode was changed to WAL, for it and every other program that opens it\n");
    }
    console.out(fmt::format("  consumers: {}\n",
                            names.empty() ? "none" : fmt::to_string(fmt::join(names, ", "))));
    if (!functions->empty()) console.out(fmt::format("  functions: {}\n", *functions));
    console.next("semel run");
    return kOk;
  }
  json::Writer writer = document("store_init");
  writer.member("store", session->where).member("made", before == Before::kMissing);
  writer.member("turned_to_wal", to_wal).member("schema_version", stats->schema_version);
  writer.name("consumers").begin_array();
  for (const auto& name : names) writer.value(name);
  writer.end_array();
  if (!functions->empty()) writer.member("functions", *functions);
  console.out(writer.end_object());
  return kOk;
}

void stats_json(Console& console, const std::string& where, const StoreStats& stats) {
  json::Writer writer = document("store_stats");
  writer.member("store", where).member("schema_version", stats.schema_version);
  writer.member("epoch", stats.epoch).member("bytes", stats.bytes);
  if (stats.record_bytes > 0) writer.member("record_bytes", stats.record_bytes);
  writer.name("running_pids").begin_array();
  for (const auto pid : stats.running_pids) writer.value(pid);
  writer.end_array().name("consumers").begin_array();
  for (const auto& one : stats.consumers) {
    writer.begin_object().member("name", one.name);
    writer.member("number", static_cast<std::uint32_t>(one.number));
    writer.member("consuming", one.consuming).member("retrying", one.retrying);
    writer.member("parked", one.parked).member("dead", one.dead).member("held", one.held);
    writer.member("dead_letters", one.dead_letters).end_object();
  }
  writer.end_array().name("generations").begin_array();
  for (const auto& one : stats.generations) {
    writer.begin_object().member("number", one.number).member("active", one.active);
    writer.member("records", one.records);
    if (one.rolling) {
      writer.name("created_at").null();
    } else {
      writer.member("created_at", console.time(one.created_at));
    }
    if (one.ttl) {
      writer.member("ttl_ms", one.ttl->count());
    } else {
      writer.name("ttl_ms").null();
    }
    writer.end_object();
  }
  console.out(writer.end_array().end_object());
}

void stats_text(Console& console, const std::string& where, const StoreStats& stats) {
  console.out(fmt::format("{}: {:.1f} MB, schema {}, epoch {}\n\n", where,
                          static_cast<double>(stats.bytes) / 1e6, stats.schema_version,
                          stats.epoch));
  Table consumers({"CONSUMER", "CONSUMING", "RETRYING", "PARKED", "DEAD", "HELD", "DEAD LETTERS"});
  constexpr std::size_t kColumns = 7;
  for (std::size_t i = 1; i < kColumns; ++i) consumers.align_right(i);
  consumers.may_cut(0, kConsumerLeast);
  for (const auto& one : stats.consumers) {
    consumers.row({one.name, grouped(one.consuming), grouped(one.retrying), grouped(one.parked),
                   grouped(one.dead), grouped(one.held), grouped(one.dead_letters)});
  }
  console.out(consumers);
  console.out("\n");
  Table generations({"GENERATION", "RECORDS", "KEPT", "BEGUN"});
  generations.align_right(0);
  generations.align_right(1);
  for (const auto& one : stats.generations) {
    if (one.rolling) {
      generations.row({std::to_string(one.number), grouped(one.records), "each for its ttl", "-"});
      continue;
    }
    generations.row({std::to_string(one.number) + (one.active ? " (active)" : ""),
                     grouped(one.records), one.ttl ? duration_text(*one.ttl) : "for ever",
                     console.time(one.created_at)});
  }
  console.out(generations);
  if (stats.record_bytes > 0) {
    console.out(
        fmt::format("\na completed record takes {} bytes, and its places in the server's tables\n",
                    grouped(stats.record_bytes)));
  }
}

int stats(Console& console) {
  auto session = open_session(console);
  if (!session) return session.error().code;
  const auto stats = session->facets.records->stats();
  if (!stats) return console.fail(stats.error());
  if (console.text()) {
    stats_text(console, session->where, *stats);
  } else {
    stats_json(console, session->where, *stats);
  }
  return kOk;
}

// Returns the number of letters that were removed.
Result<std::size_t> expire_letters(Session& session) {
  auto expiry = compose::LetterExpiry::of(*session.store, session.config.consumers);
  if (!expiry) return failure(std::move(expiry.error()));
  std::size_t removed = 0;
  for (bool more = true; more;) {
    const auto part =
        expiry->run(kSweepTurn, [&](std::string_view, std::size_t letters) { removed += letters; });
    if (!part) return failure(part.error());
    more = *part;
  }
  return removed;
}

int sweep(Console& console) {
  auto session = open_session(console);
  if (!session) return session.error().code;
  std::size_t records = 0;
  for (bool more = true; more;) {
    const auto report = session->store->purge(kSweepTurn);
    if (!report) return console.fail(report.error());
    records += report->records;
    more = report->more;
    console.progress(fmt::format("{} forgotten", grouped(records)));
  }
  const auto letters = expire_letters(*session);
  if (!letters) return console.fail(letters.error());
  if (console.text()) {
    console.out(
        fmt::format("{} past their time forgotten\n", counted(records, "record", "records")));
    if (*letters > 0) {
      console.out(fmt::format("{} past their time removed\n",
                              counted(*letters, "dead letter", "dead letters")));
    }
  } else {
    console.out(document("store_sweep")
                    .member("forgotten", records)
                    .member("dead_letters", *letters)
                    .end_object());
  }
  return kOk;
}

}  // namespace

void add_store(Program& program) {
  auto& family =
      program.family({.name = "store", .description = "The store itself", .group = "Operate"});
  const unsigned shared = kConfigFlag | kConfigArgument | kOutput | kQuiet;
  auto flags = std::make_shared<FunctionFlags>();
  auto& init = program.command({.name = "init",
                                .description = "Make the store's tables and its consumers' numbers",
                                .flags = shared,
                                .parent = &family},
                               [flags](Console& console) { return init_store(console, *flags); });
  add_function_flags(init, flags);
  add_consumer_flag(init, flags);
  program.command({.name = "stats",
                   .description = "What is in the store, by consumer and generation",
                   .flags = shared | kTime,
                   .parent = &family},
                  [](Console& console) { return stats(console); });
  program.command(
      {.name = "sweep",
       .description =
           "Forget completed records past their ttl, and dead letters past their time, now",
       .flags = shared,
       .parent = &family},
      [](Console& console) { return sweep(console); });
  add_store_migrate(program, family);
  add_store_verify(program, family);
}

}  // namespace semel::cli
