#include "tests/support/emptied_mysql.h"

#include <semel/mysql.h>

#include <chrono>
#include <stdexcept>
#include <utility>

#include "tests/support/waiting.h"

namespace semel::test {
namespace {

constexpr std::chrono::milliseconds kPatience{2'000};

constexpr const char* kSessions =
    "SELECT COUNT(*) FROM information_schema.processlist WHERE db = DATABASE() AND id <> "
    "CONNECTION_ID()";

// MySQL 8 alone keeps statistics for a while; MariaDB reads no comment of these versions.
constexpr const char* kSet =
    "SET group_concat_max_len = 16777216, foreign_key_checks = 0, lock_wait_timeout = 2"
    "/*!80000 , information_schema_stats_expiry = 0 */;";

// A query for the names of the store's tables that have rows.
constexpr const char* kLookForRows =
    "SELECT GROUP_CONCAT(CONCAT('(SELECT ''', table_name, ''' AS name FROM ', table_name, "
    "' LIMIT 1)') SEPARATOR ' UNION ') FROM information_schema.tables WHERE table_schema = "
    "DATABASE() AND table_type = 'BASE TABLE' AND LEFT(table_name, 6) = 'semel_' AND table_name "
    "NOT IN ('semel_meta', 'semel_schema')";

// Empty tables may have drawn numbers too.
constexpr const char* kNumbered =
    "SELECT table_name AS name FROM information_schema.tables WHERE table_schema = DATABASE() AND "
    "LEFT(table_name, 6) = 'semel_' AND auto_increment > 1";

constexpr const char* kDropOthers =
    "SELECT CONCAT('DROP ', IF(table_type = 'VIEW', 'VIEW', 'TABLE'), ' `', table_name, '`;') AS "
    "text FROM information_schema.tables WHERE table_schema = DATABASE() AND LEFT(table_name, 6) "
    "<> 'semel_'";

constexpr const char* kMySqlDescription = R"sql(
SELECT GROUP_CONCAT(line ORDER BY line SEPARATOR '\n') FROM (
  SELECT CONCAT_WS(' ', 'table', table_name, table_type, engine, row_format, table_collation,
                   create_options, IF(auto_increment > 1, auto_increment, '')) AS line
  FROM information_schema.tables WHERE table_schema = DATABASE()
  UNION ALL SELECT CONCAT_WS(' ', 'column', table_name, ordinal_position, column_name, column_type,
                             is_nullable, column_default, extra, collation_name)
  FROM information_schema.columns WHERE table_schema = DATABASE()
  UNION ALL SELECT CONCAT_WS(' ', 'index', table_name, index_name, seq_in_index, column_name,
                             sub_part, non_unique)
  FROM information_schema.statistics WHERE table_schema = DATABASE()
  UNION ALL SELECT CONCAT_WS(' ', 'constraint', table_name, constraint_name, constraint_type)
  FROM information_schema.table_constraints WHERE table_schema = DATABASE()
  UNION ALL SELECT CONCAT_WS(' ', 'view', table_name, MD5(view_definition))
  FROM information_schema.views WHERE table_schema = DATABASE()
  UNION ALL SELECT CONCAT_WS(' ', 'trigger', event_object_table, trigger_name)
  FROM information_schema.triggers WHERE trigger_schema = DATABASE()
  UNION ALL SELECT CONCAT_WS(' ', 'routine', routine_name)
  FROM information_schema.routines WHERE routine_schema = DATABASE()
  UNION ALL SELECT CONCAT_WS(' ', 'event', event_name)
  FROM information_schema.events WHERE event_schema = DATABASE()
  UNION ALL SELECT CONCAT_WS(' ', 'database', default_character_set_name, default_collation_name)
  FROM information_schema.schemata WHERE schema_name = DATABASE()
  UNION ALL SELECT CONCAT_WS(' ', 'row', one, epoch, clock_seen, clock_doubted) FROM semel_meta
  UNION ALL SELECT CONCAT_WS(' ', 'row', version, made_at, made_by) FROM semel_schema
) AS lines_of_all)sql";

void wait_for_sessions(const DatabaseServer& server, const std::string& database) {
  if (!comes_true([&] { return server.query(database, kSessions) == "0"; }, kPatience)) {
    throw std::runtime_error("a session is open in it");
  }
}

std::string tables_with_rows(const DatabaseServer& server, const std::string& database) {
  return server.query(database, kSet + std::string(kLookForRows));
}

std::string describe_mysql(const DatabaseServer& server, const std::string& database) {
  return server.query(database, kSet + std::string(kMySqlDescription)) + '\n' +
         server.query(database, tables_with_rows(server, database));
}

}  // namespace

std::string fill_mysql(const DatabaseServer& server, const std::string& database) {
  MySqlOptions options;
  options.url = server.url(database);
  if (const auto store = open_mysql(std::move(options)); !store) {
    throw std::runtime_error(store.error().message);
  }
  return describe_mysql(server, database);
}

// Truncates instead of deleting: a deleted row that is not purged yet is locked by lookups of its
// key, and its number would not be assigned again.
std::string empty_mysql(const DatabaseServer& server, const std::string& database) {
  wait_for_sessions(server, database);
  const std::string statements = server.query(
      database, kSet + std::string("SELECT GROUP_CONCAT(text SEPARATOR '') FROM (") + kDropOthers +
                    " UNION ALL SELECT CONCAT('TRUNCATE ', name, ';') FROM (" + kNumbered +
                    " UNION " + tables_with_rows(server, database) + ") AS used) AS statements");
  server.query(database,
               kSet + statements +
                   "UPDATE semel_meta SET epoch = 0, clock_seen = '1970-01-01', clock_doubted = "
                   "'1970-01-01' WHERE one = 1");
  return describe_mysql(server, database);
}

}  // namespace semel::test
