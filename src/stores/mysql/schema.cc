#include "stores/mysql/schema.h"

#include <fmt/format.h>

#include <semel/version.h>

#include <string_view>
#include <utility>

#include "stores/mysql/functions.h"
#include "stores/mysql/instance_lock.h"
#include "stores/mysql/literal.h"
#include "stores/mysql/schema_sql.h"

namespace semel::mysql {
namespace {

// How long to wait while another process makes the tables.
constexpr int kMakersPatience = 60;
constexpr const char* kTableOptions =
    " ENGINE = InnoDB, ROW_FORMAT = DYNAMIC, DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin";

std::int64_t ask(Wire& wire, const std::string& statement) {
  sql::Answer answer = execute(wire, statement);
  return answer.next() ? answer.integer(0) : 0;
}

// Adds a hint on how to fix it.
[[noreturn]] void tell_right(const sql::Failure& failed) {
  Error error = failed.error();
  if (error.code != "R253") throw failed;
  error.hint =
      "grant it: GRANT CREATE, CREATE VIEW, INDEX … ON database.* TO user, or let an owner run "
      "`semel store init`";
  sql::fail(std::move(error), failed.code());
}

// A process that lists no open record would leave some that no one finds.
void need_nobody(Wire& wire) {
  sql::Answer alive =
      execute(wire, fmt::format("SELECT pid, host FROM semel_instance WHERE IS_FREE_LOCK({}) = 0 "
                                "ORDER BY number LIMIT 1",
                                lock_name(kInstance, "number")));
  if (!alive.next()) return;
  sql::fail({ErrorKind::kBlocked, "R207",
             fmt::format("the tables are of an older version, and a process that knows no newer "
                         "one works on them: {} on {}",
                         alive.integer(0), alive.bytes(1)),
             "end all older processes first"});
}

// Excludes all others that make tables in this database.
class Alone {
 public:
  explicit Alone(Wire& wire) : wire_(wire) {
    if (ask(wire, fmt::format("SELECT GET_LOCK({}, {})", kName, kMakersPatience)) != 1) {
      sql::fail({ErrorKind::kBlocked, "R206", "another process makes the tables, and does not end",
                 "look what it waits for"});
    }
  }
  ~Alone() {
    try {
      execute(wire_, fmt::format("SELECT RELEASE_LOCK({})", kName));
    } catch (...) {
      // It ends with the session.
    }
  }
  Alone(const Alone&) = delete;
  Alone& operator=(const Alone&) = delete;

 private:
  static constexpr const char* kName = "CONCAT('semel.migrate.', LEFT(SHA1(DATABASE()), 16))";
  Wire& wire_;
};

}  // namespace

sql::Answer execute(Wire& wire, const std::string& statement) {
  wire.send(statement);
  Answers answers = wire.run(Loss::kNothingDone);
  if (answers.refused) throw failure_of(*answers.refused);
  return answer_of(answers.said.back());
}

void change_alone(Wire& wire, const std::function<void()>& change) {
  const Alone alone(wire);
  change();
}

int schema_version(Wire& wire) {
  const std::int64_t there =
      ask(wire,
          "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema "
          "= DATABASE() AND table_name = 'semel_schema'");
  if (there == 0) return 0;
  return static_cast<int>(ask(wire, "SELECT COALESCE(MAX(version), 0) FROM semel_schema"));
}

int newest_version() noexcept { return kSchemaVersion; }

void refuse_newer(int version) {
  if (version <= kSchemaVersion) return;
  sql::fail({ErrorKind::kRejected, "R210",
             fmt::format("the database has tables of version {}; this library knows version {} and "
                         "older",
                         version, kSchemaVersion),
             "use the newer Semel that made them"});
}

std::vector<std::string> migration_sql(int version, int to) {
  std::vector<std::string> statements;
  for (int next = version; next < to; ++next) {
    std::string_view step = kMigrations[next];
    while (!step.empty()) {
      constexpr std::string_view kBetween = "\n\n";
      const std::size_t end = std::min(step.find(kBetween), step.size());
      std::string statement(step.substr(0, end));
      step.remove_prefix(std::min(end + kBetween.size(), step.size()));
      if (statement.starts_with('\n')) statement.erase(0, 1);
      if (statement.ends_with('\n')) statement.pop_back();
      if (statement.starts_with("CREATE TABLE")) statement += kTableOptions;
      if (!statement.empty()) statements.push_back(std::move(statement));
    }
  }
  if (statements.empty()) return statements;
  // So that it also works in a session with sql_safe_updates.
  statements.emplace_back("DELETE FROM semel_schema WHERE version >= 0 LIMIT 1000");
  std::string made = fmt::format("INSERT INTO semel_schema VALUES ({}, NOW(6), ", to);
  append_text(made, fmt::format("semel {}", ::semel::version()), Literals::kAnyones);
  statements.push_back(made + ')');
  return statements;
}

void make_schema(Wire& wire) {
  const int found = schema_version(wire);
  refuse_newer(found);
  if (found == kSchemaVersion) return;
  try {
    const Alone alone(wire);
    const int version = schema_version(wire);
    if (version > 0 && version < kListsOpenRecords) need_nobody(wire);
    if (version == kSchemaVersion) return;
    for (const std::string& statement : migration_sql(version)) {
      execute(wire, statement);
    }
    // Procedures of another owner stay as they are, and refuse tables of another version.
    if (may_replace_functions(wire)) run_function_statements(wire);
  } catch (const sql::Failure& failed) {
    tell_right(failed);
  }
}

void need_schema(Wire& wire, std::string_view make) {
  const int version = schema_version(wire);
  refuse_newer(version);
  if (version == kSchemaVersion) return;
  sql::fail({ErrorKind::kRejected, "R207",
             version == 0 ? std::string("the database has no tables of Semel")
                          : fmt::format("the database has tables of an older version, {}", version),
             version == 0 ? fmt::format("make them: {}", make)
                          : "bring them up to date: semel store migrate"});
}

}  // namespace semel::mysql
