// store migrate: brings the tables of an older version up to this one.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <variant>

#include "cli/command.h"
#include "cli/session.h"
#include "cli/store_functions.h"
#include "cli/text.h"
#include "compose/compose.h"

namespace semel::cli {

namespace {

void report_migration_json(Console& console, const std::string& where, const SchemaChange& change,
                           bool dry_run, const std::string& functions) {
  json::Writer writer = document("store_migrate");
  writer.member("store", where).member("dry_run", dry_run);
  writer.member("from", change.from).member("to", change.to);
  if (dry_run) writer.member("sql", change.sql);
  if (!functions.empty()) writer.member("functions", functions);
  console.out(writer.end_object());
}

// The SQL that would make or drop the functions; empty if neither was requested.
OrEnded<std::string> planned_functions(Console& console, const config::StoreConfig& store,
                                       const FunctionFlags& flags) {
  if (!flags.asked()) return std::string();
  auto sql = compose::functions_sql(
      store, flags.make ? compose::SqlFunctions::kMake : compose::SqlFunctions::kDrop);
  if (!sql) return ended(console.fail(sql.error()));
  return *std::move(sql);
}

int migrate(Console& console, const FunctionFlags& flags) {
  if (const auto refused = refuse_url(console)) return *refused;
  auto config = load_store_config(console);
  if (!config) return config.error().code;
  const bool dry_run = console.settings().dry_run;
  const std::string where = store_name(*config);
  const bool kept = !std::holds_alternative<MemoryOptions>(config->store.kind);
  const auto planned = planned_functions(console, config->store, flags);
  if (!planned) return planned.error().code;
  auto change = compose::schema_change(config->store);
  if (!change) return console.fail(change.error());
  std::string functions;
  if (!dry_run || !kept) {
    // Opening the store brings it up to date.
    const auto session = open_session(console, *std::move(config), Create::kYes);
    if (!session) return session.error().code;
    const auto changed = change_functions(console, session->config.store, flags);
    if (!changed) return changed.error().code;
    functions = *changed;
  }
  change->sql += *planned;
  if (!console.text()) {
    report_migration_json(console, where, *change, dry_run, functions);
  } else if (dry_run && (flags.asked() || change->from != change->to)) {
    console.out(change->sql);
  } else if (change->from == change->to) {
    console.note(fmt::format("semel: {}: schema {}, up to date", where, change->to));
  } else {
    const std::string was = change->from == 0 ? "made" : fmt::format("was {}", change->from);
    console.out(fmt::format("{}: schema {}, {}\n", where, change->to, was));
    console.next("semel store verify");
  }
  if (console.text() && !functions.empty()) {
    console.out(fmt::format("{}: functions {}\n", where, functions));
  }
  return kOk;
}

}  // namespace

void add_store_migrate(Program& program, CLI::App& family) {
  auto flags = std::make_shared<FunctionFlags>();
  auto& command = program.command(
      {.name = "migrate",
       .description = "Bring the store's tables up to date; --dry-run prints the SQL",
       .flags = kConfigFlag | kConfigArgument | kOutput | kQuiet | kDryRun,
       .parent = &family},
      [flags](Console& console) { return migrate(console, *flags); });
  add_function_flags(command, flags);
  command.footer(
      "run and store init do the same where they may. Let a user who owns the schema do it "
      "where the one of the config may not: semel store migrate --dry-run | psql -1 … (or "
      "| mariadb …, | sqlite3 -bail …)");
}

}  // namespace semel::cli
