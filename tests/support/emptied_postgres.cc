#include "tests/support/emptied_postgres.h"

#include <semel/postgres.h>

#include <stdexcept>
#include <utility>

namespace semel::test {
namespace {

// A table that is truncated has new files, and so have its indexes: that costs more than all the
// rest. One that has become large would make the next tests slow.
constexpr const char* kEmpty = R"sql(
SET client_min_messages = error;
SET lock_timeout = '2s';
DO $$
DECLARE
  patience constant timestamptz := clock_timestamp() + interval '2 seconds';
  one record;
BEGIN
  WHILE EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database()
                AND pid <> pg_backend_pid() AND backend_type = 'client backend') LOOP
    IF clock_timestamp() > patience THEN RAISE 'a session is open in it'; END IF;
    PERFORM pg_sleep(0.001);
    PERFORM pg_stat_clear_snapshot();
  END LOOP;
  IF EXISTS (SELECT FROM pg_prepared_xacts WHERE database = current_database()) THEN
    RAISE 'a prepared transaction is open in it';
  END IF;
  DROP SCHEMA public CASCADE;
  CREATE SCHEMA public AUTHORIZATION pg_database_owner;
  COMMENT ON SCHEMA public IS 'standard public schema';
  GRANT USAGE ON SCHEMA public TO PUBLIC;
  FOR one IN SELECT oid::regclass AS name FROM pg_class
             WHERE relnamespace = 'semel'::regnamespace AND relispartition AND relkind = 'r' LOOP
    EXECUTE 'DROP TABLE ' || one.name;
  END LOOP;
  FOR one IN SELECT oid::regclass AS name, pg_relation_size(oid) > 65536 AS large FROM pg_class
             WHERE relnamespace = 'semel'::regnamespace AND relkind = 'r'
             AND relname <> 'semel_schema' AND pg_relation_size(oid) > 0 LOOP
    EXECUTE CASE WHEN one.large THEN 'TRUNCATE ' ELSE 'DELETE FROM ' END || one.name;
  END LOOP;
  INSERT INTO semel.semel_meta VALUES (true, 0, 1, 'epoch', 'epoch');
  PERFORM setval(oid::regclass, 1, false) FROM pg_class
  WHERE relnamespace = 'semel'::regnamespace AND relkind = 'S';
END $$)sql";

constexpr const char* kPostgresDescription = R"sql(
WITH schemas AS (
  SELECT oid, nspname, nspowner, nspacl FROM pg_namespace
  WHERE nspname !~ '^pg_' AND nspname <> 'information_schema'),
relations AS (SELECT c.* FROM pg_class AS c JOIN schemas AS s ON s.oid = c.relnamespace),
lines(line) AS (
  SELECT format('schema %s %s %s', nspname, nspowner::regrole, nspacl) FROM schemas
  UNION ALL SELECT format('relation %s %s %s %s %s %s', oid::regclass, relkind,
                          relowner::regrole, relacl, reloptions, relrowsecurity)
            FROM relations
  UNION ALL SELECT format('column %s %s %s %s %s %s', a.attrelid::regclass, a.attnum, a.attname,
                          a.atttypid::regtype, a.attnotnull, pg_get_expr(d.adbin, d.adrelid))
            FROM pg_attribute AS a JOIN relations AS r ON r.oid = a.attrelid
            LEFT JOIN pg_attrdef AS d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
            WHERE a.attnum > 0
  UNION ALL SELECT format('index %s %s', i.indisvalid, pg_get_indexdef(i.indexrelid))
            FROM pg_index AS i JOIN relations AS r ON r.oid = i.indexrelid
  UNION ALL SELECT format('constraint %s %s', c.conname, pg_get_constraintdef(c.oid))
            FROM pg_constraint AS c JOIN schemas AS s ON s.oid = c.connamespace
  UNION ALL SELECT format('trigger %s %s', t.tgrelid::regclass, t.tgname)
            FROM pg_trigger AS t JOIN relations AS r ON r.oid = t.tgrelid
  UNION ALL SELECT format('rule %s %s %s', w.ev_class::regclass, w.rulename,
                          md5(pg_get_ruledef(w.oid)))
            FROM pg_rewrite AS w JOIN relations AS r ON r.oid = w.ev_class
  UNION ALL SELECT format('function %s', p.oid::regprocedure)
            FROM pg_proc AS p JOIN schemas AS s ON s.oid = p.pronamespace
  UNION ALL SELECT format('type %s', t.oid::regtype)
            FROM pg_type AS t JOIN schemas AS s ON s.oid = t.typnamespace
  UNION ALL SELECT format('label %s %s', enumtypid::regtype, enumlabel) FROM pg_enum
  UNION ALL SELECT format('extension %s', extname) FROM pg_extension
  UNION ALL SELECT format('setting %s %s', setrole, setconfig) FROM pg_db_role_setting
            WHERE setdatabase = (SELECT oid FROM pg_database WHERE datname = current_database())
  UNION ALL SELECT format('sequence %s %s', sequencename, last_value) FROM pg_sequences
  UNION ALL SELECT format('row %s', m) FROM semel.semel_meta AS m
  UNION ALL SELECT format('row %s', v) FROM semel.semel_schema AS v)
SELECT string_agg(line, E'\n' ORDER BY line COLLATE "C") FROM lines)sql";

}  // namespace

std::string fill_postgres(const DatabaseServer& server, const std::string& database) {
  PostgresOptions options;
  options.url = server.url(database);
  if (const auto store = open_postgres(std::move(options)); !store) {
    throw std::runtime_error(store.error().message);
  }
  return server.query(database, kPostgresDescription);
}

std::string empty_postgres(const DatabaseServer& server, const std::string& database) {
  return server.query(database, kEmpty + std::string(";") + kPostgresDescription);
}

}  // namespace semel::test
