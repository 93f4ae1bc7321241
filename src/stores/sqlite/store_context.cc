#include "stores/sqlite/store_context.h"

#include <fmt/format.h>

#include <filesystem>
#include <system_error>
#include <thread>
#include <utility>

#include "stores/sqlite/lock_holder.h"
#include "stores/sqlite/place.h"
#include "stores/sqlite/schema.h"

namespace semel::sqlite {
namespace {

constexpr std::chrono::milliseconds kAgainWhenBlocked{5};

// SQLite reports a lock only as BUSY.
[[noreturn]] void tell_who(const Failure& failed, const std::string& path) {
  if (failed.error().kind == ErrorKind::kBlocked) fail(locked_error(path, lock_holder(path)));
  throw failed;
}

// SQLite opens a file that it may not write, and fails at the first write.
void refuse_read_only(Connection& connection) {
  if (!connection.read_only()) return;
  fail({ErrorKind::kUnavailable, "R203", fmt::format("{} is read-only", connection.path()),
        "let this user write the file and its directory"});
}

void need_tables(Connection& connection) {
  const int version = schema_version(connection);
  refuse_newer(connection, version);
  if (version == kSchemaVersion) return;
  fail({ErrorKind::kRejected, "R207",
        version == 0
            ? fmt::format("{} has no tables of Semel", connection.path())
            : fmt::format("{} has tables of an older version, {}", connection.path(), version),
        version == 0 ? "make them: semel store init"
                     : "bring them up to date: semel store migrate"});
}

void turn_to_log(Connection& connection, bool may) {
  if (connection.ask("PRAGMA journal_mode") == "wal") return;
  if (!may) {
    fail({ErrorKind::kRejected, "R207",
          fmt::format("{} keeps a rollback journal: there every commit locks all readers out",
                      connection.path()),
          "turn it to a write-ahead log: semel store init"});
  }
  const std::string mode = connection.ask("PRAGMA journal_mode = WAL");
  if (mode == "wal") return;
  fail({ErrorKind::kUnavailable, "R201",
        fmt::format("{} cannot be turned to a write-ahead log (its journal mode stays {})",
                    connection.path(), mode),
        "put the database on a local disk, and end other programs that use it"});
}

void prepare_once(const SqliteOptions& options, StoreClock& clock) {
  ConnectionOptions first = connection_options(options);
  first.make = options.create;
  Connection connection(first);
  connection.set_patience(options.busy);
  refuse_read_only(connection);
  // An older library must neither convert nor touch a newer file.
  refuse_newer(connection, schema_version(connection));
  turn_to_log(connection, options.create);
  if (!options.create) {
    need_tables(connection);
  } else if (schema_version(connection) != kSchemaVersion) {
    connection.execute("BEGIN IMMEDIATE");
    make_schema(connection, clock.now());
    connection.execute("COMMIT");
  }
}

// Made and checked by a connection of its own, so that the writer never sees half a file. From then
// on the file is opened by its real path.
SqliteOptions prepared(SqliteOptions options, StoreClock& clock) {
  check_place(options);
  const auto until = clock.elapsed() + options.busy;
  for (;;) {
    try {
      prepare_once(options, clock);
      options.path = real_path(options.path);
      return options;
    } catch (const Failure& failed) {
      // If two convert a new file at the same time, SQLite refuses one without waiting.
      const bool blocked = failed.error().kind == ErrorKind::kBlocked;
      if (!blocked || clock.elapsed() >= until) tell_who(failed, options.path);
      std::this_thread::sleep_for(kAgainWhenBlocked);
    }
  }
}

}  // namespace

SchemaChange schema_change(const SqliteOptions& options) {
  SchemaChange change;
  change.to = kSchemaVersion;
  check_place(options);
  std::error_code unknown;
  // An empty file is not a database yet, but may become one.
  if (std::filesystem::exists(options.path, unknown)) {
    Connection connection(connection_options(options));
    connection.set_patience(options.busy);
    change.from = schema_version(connection);
    refuse_newer(connection, change.from);
  }
  change.sql = migration_sql(change.from);
  return change;
}

ConnectionOptions connection_options(const SqliteOptions& options) {
  ConnectionOptions connection;
  connection.path = options.path;
  connection.vfs = options.vfs;
  connection.cache_bytes = options.cache_bytes;
  connection.own_checkpoints = !options.checkpoints;
  connection.foreign_keys = options.foreign_keys;
  connection.patience = options.busy;
  return connection;
}

StoreContext::StoreContext(SqliteOptions wanted, Environment& environment, StoreClock& the_clock)
    : options(prepared(std::move(wanted), the_clock)),
      clock(the_clock),
      writer(connection_options(options), options.generation_rows, environment, the_clock),
      reader(
          [&] {
            ConnectionOptions look = connection_options(options);
            look.only_look = true;
            return look;
          }(),
          options.busy),
      instances(SideFile::path_for(options.path), writer, options.busy),
      wake_ups(options.path) {
  // The log exists once it was read: wake_ups watches it.
  reader.look([](Tables&, Connection&) {});
  if (options.checkpoints) {
    housekeeper = std::make_unique<Housekeeper>(connection_options(options), writer, filters);
    writer.tables().generations.use_filters(filters);
  }
}

StoreContext::~StoreContext() {
  housekeeper.reset();
  if (writer.tables().generations.all_counted()) return;
  // Passes uncounted inserts on to the next process if the lock is free; otherwise its table grows
  // a little longer.
  (void)contained([&] {
    WriteTransaction transaction(writer, Sync::kProcessCrash, std::chrono::milliseconds(0));
    transaction.tables().generations.count_all();
    transaction.commit();
  });
}

}  // namespace semel::sqlite
