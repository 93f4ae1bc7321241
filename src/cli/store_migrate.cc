// store migrate: the tables of an older version become those of this one.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <string>
#include <variant>

#include "cli/command.h"
#include "cli/session.h"
#include "cli/text.h"
#include "compose/compose.h"

namespace semel::cli {

namespace {

void report_migration_json(Console& console, const std::string& where, const SchemaChange& change,
                           bool dry_run) {
  json::Writer writer = document("store_migrate");
  writer.member("store", where).member("dry_run", dry_run);
  writer.member("from", change.from).member("to", change.to);
  if (dry_run) writer.member("sql", change.sql);
  console.out(writer.end_object());
}

int migrate(Console& console) {
  auto config = load_config(console);
  if (!config) return config.error().code;
  const bool dry_run = console.settings().dry_run;
  const std::string where = store_name(*config);
  const bool kept = !std::holds_alternative<MemoryOptions>(config->store.kind);
  const auto change = compose::schema_change(config->store);
  if (!change) return console.fail(change.error());
  if (!dry_run || !kept) {
    // Brought up to date by being opened.
    const auto session = open_session(console, *std::move(config), Create::kYes);
    if (!session) return session.error().code;
  }
  if (!console.text()) {
    report_migration_json(console, where, *change, dry_run);
  } else if (change->from == change->to) {
    console.note(fmt::format("semel: {}: schema {}, up to date", where, change->to));
  } else if (dry_run) {
    console.out(change->sql);
  } else {
    const std::string was = change->from == 0 ? "made" : fmt::format("was {}", change->from);
    console.out(fmt::format("{}: schema {}, {}\n", where, change->to, was));
    console.next("semel store verify");
  }
  return kOk;
}

}  // namespace

void add_store_migrate(Program& program, CLI::App& family) {
  program
      .command({.name = "migrate",
                .description = "Bring the store's tables up to date; --dry-run prints the SQL",
                .flags = kConfigFlag | kConfigArgument | kOutput | kQuiet | kDryRun,
                .parent = &family},
               [](Console& console) { return migrate(console); })
      .footer(
          "run and store init do the same where they may. Let a user who owns the schema do it "
          "where the one of the config may not: semel store migrate --dry-run | psql -1 … (or "
          "| mariadb …)");
}

}  // namespace semel::cli
