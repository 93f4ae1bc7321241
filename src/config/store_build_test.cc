// The config of a server's database, and the values that are never shown.
#include "config/store_build.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>

#include "tests/support/temp_dir.h"

namespace semel::config {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kConsumer =
    "consumers: [{name: a, source: {queue: {}}, key: json:/id, handler: {native: a}}]\n";

Loaded load(const std::string& store, const std::vector<std::string>& sets = {}) {
  LoadOptions options;
  options.sets = sets;
  options.env = [](const std::string& name) -> std::optional<std::string> {
    if (name == "DATABASE_URL") return "postgresql://ann:hunter2@db/bank";
    return std::nullopt;
  };
  return load_text(store + std::string(kConsumer), "semel.yaml", options);
}

std::string said_and_shown(const Loaded& loaded) {
  std::string text;
  for (const auto& each : loaded.diagnostics) text += format(each, false) + each.excerpt;
  for (const auto& each : loaded.effective) {
    text += each.path + " = " + each.value + " (" + each.origin + ")\n";
  }
  return text;
}

PostgresOptions store_of(const Loaded& loaded) {
  EXPECT_TRUE(loaded.config) << said_and_shown(loaded);
  return loaded.config ? std::get<PostgresOptions>(loaded.config->store.kind) : PostgresOptions{};
}

TEST(PostgresStoreConfig, IsReadInBothForms) {
  const auto whole = store_of(
      load("store: { postgres: { url: 'host=db dbname=bank', schema: ours, pool: 3 } }\n"));
  EXPECT_EQ(whole.url, "host=db dbname=bank");
  EXPECT_EQ(whole.schema, "ours");
  EXPECT_EQ(whole.connections, 3U);
  const auto brief = store_of(load("store: { postgres: \"${DATABASE_URL}\" }\n"));
  EXPECT_EQ(brief.url, "postgresql://ann:hunter2@db/bank");
  EXPECT_EQ(brief.schema, "semel");
  const auto set =
      store_of(load("store: { sqlite: x.db }\n", {"store.postgres.url=postgres://db/b"}));
  EXPECT_EQ(set.url, "postgres://db/b");
}

TEST(MySqlStoreConfig, IsReadInBothForms) {
  const auto mysql = [](const std::string& store) {
    const Loaded loaded = load("store: { mysql: " + store + " }\n");
    EXPECT_TRUE(loaded.config) << said_and_shown(loaded);
    return loaded.config ? std::get<MySqlOptions>(loaded.config->store.kind) : MySqlOptions{};
  };
  const auto whole = mysql("{ url: 'mysql://ann@db/bank?tls=verify', pool: 3 }");
  EXPECT_EQ(whole.url, "mysql://ann@db/bank?tls=verify");
  EXPECT_EQ(whole.connections, 3U);
  EXPECT_EQ(mysql("mariadb://db/bank").url, "mariadb://db/bank");
  const Loaded other = load("store: { mysql: \"${DATABASE_URL}\" }\n");
  EXPECT_FALSE(other.config);
  EXPECT_EQ(said_and_shown(other).find("hunter2"), std::string::npos) << said_and_shown(other);
  EXPECT_NE(said_and_shown(other).find("mysql://user@host/database"), std::string::npos);
}

TEST(MySqlStoreConfig, ItsPasswordIsNeverShown) {
  for (const std::string store : {
           "store: { mysql: { url: \"mysql://ann:hunter2@db/bank\" } }\n",
           "store: { mysql: \"mysql://ann:hunter2@db/bank\" }\n",
           "store: { mysql: { url: \"mysql://ann:hunter2@db/bank\", pol: 3 } }\n",
       }) {
    const auto shown = said_and_shown(load(store));
    EXPECT_EQ(shown.find("hunter2"), std::string::npos) << shown;
  }
}

TEST(RedisStoreConfig, IsReadInBothForms) {
  const auto redis = [](const std::string& store) {
    const Loaded loaded = load("store: { redis: " + store + " }\n");
    EXPECT_TRUE(loaded.config) << said_and_shown(loaded);
    return loaded.config ? std::get<RedisOptions>(loaded.config->store.kind) : RedisOptions{};
  };
  const auto whole =
      redis("{ url: 'redis://:x@db:6380/2', prefix: 'ours:', pool: 3, accept: [eviction] }");
  EXPECT_EQ(whole.url, "redis://:x@db:6380/2");
  EXPECT_EQ(whole.prefix, "ours:");
  EXPECT_EQ(whole.connections, 3U);
  EXPECT_TRUE(whole.accept_eviction);
  const auto brief = redis("'redis+unix:///run/redis.sock?db=1'");
  EXPECT_EQ(brief.url, "redis+unix:///run/redis.sock?db=1");
  EXPECT_EQ(brief.prefix, "semel:");
  EXPECT_FALSE(brief.accept_eviction);
}

TEST(RedisStoreConfig, ItsPasswordIsNeverShown) {
  for (const std::string store : {
           "store: { redis: { url: \"redis://ann:hunter2@db/0\" } }\n",
           "store: { redis: \"redis://:hunter2@db/0\" }\n",
           "store: { redis: { url: \"redis://:hunter2@db/0\", pol: 3 } }\n",
           "store: { redis: { url: \"http://:hunter2@db/0\" } }\n",
           "store: { redis: { url: \"${DATABASE_URL}\" } }\n",
       }) {
    const auto shown = said_and_shown(load(store));
    EXPECT_EQ(shown.find("hunter2"), std::string::npos) << shown;
  }
}

TEST(PostgresStoreConfig, ItsPasswordIsNeverShown) {
  for (const std::string store : {
           "store: { postgres: { url: \"${DATABASE_URL}\" } }\n",
           "store: { postgres: \"postgresql://ann:hunter2@db/bank\" }\n",
           "store: { postgres: { url: 'host=db password=hunter2' } }\n",
           "store: { postgres: { url: \"postgresql://ann:hunter2@db/bank\", schem: x } }\n",
           "store: { postgres: { url: \"${DATABASE_URL}\", schema: UPPER } }\n",
           "store: { postgres: { url: \"mysql://ann:hunter2@db/bank\" } }\n",
           "store: { postgres: { url: [ \"postgresql://ann:hunter2@db/bank\" ] } }\n",
           "store: { postgres: { url: \"postgresql://ann:hunter2@db/bank\" }, memory: {} }\n",
           "store: { postgres: { url: \"postgresql://ann:hunter2@db/bank } }\n",
       }) {
    const auto text = said_and_shown(load(store));
    EXPECT_EQ(text.find("hunter2"), std::string::npos) << text;
  }
  for (const std::string set : {"store.postgres.url=postgresql://ann:hunter2@db/bank",
                                "store.postgres.url=mysql://ann:hunter2@db/bank",
                                "store.postgres=postgresql://ann:hunter2@db/bank",
                                "store={postgres: {url: postgresql://ann:hunter2@db/bank, b: 1}}",
                                "store={postgres: {url: postgresql://ann:hunter2@db/bank"}) {
    const auto text = said_and_shown(load("", {set}));
    EXPECT_EQ(text.find("hunter2"), std::string::npos) << text;
  }
  const auto shown = said_and_shown(load("store: { postgres: \"${DATABASE_URL}\" }\n"));
  EXPECT_NE(shown.find("store.postgres.url = postgresql://ann:***@db/bank (semel.yaml:1:20, env "
                       "DATABASE_URL)\n"),
            std::string::npos)
      << shown;
}

TEST(PostgresStoreConfig, ASchemaIsAPlainIdentifier) {
  const auto refuses = [](const std::string& name) {
    const auto loaded =
        load("store: { postgres: { url: postgres://db/b, schema: '" + name + "' } }\n");
    return !loaded.config && loaded.diagnostics.front().code == "E024";
  };
  for (const char* bad :
       {"", "Upper", "has blank", "semi;colon", "quo\"te", "1st", "dash-ed", "pg_mine", "größe"}) {
    EXPECT_TRUE(refuses(bad)) << bad;
  }
  EXPECT_TRUE(refuses(std::string(64, 'a')));
  EXPECT_FALSE(refuses(std::string(63, 'a')));
  EXPECT_FALSE(refuses("_s2"));
}

TEST(PostgresStoreConfig, ALiteralPasswordIsWarnedOfWhereOthersMayRead) {
  const test::TempDir folder;
  const auto warned = [&](const std::string& url, fs::perms mode) {
    const auto file = folder.file("semel.yaml");
    std::ofstream(file) << "store: { postgres: \"" << url << "\" }\n" << kConsumer;
    fs::permissions(file, mode);
    const auto loaded = load_file(file);
    EXPECT_TRUE(loaded.config);
    return !loaded.diagnostics.empty() && loaded.diagnostics.front().code == "W031";
  };
  const auto open = fs::perms::owner_all | fs::perms::others_read;
  EXPECT_TRUE(warned("postgresql://ann:hunter2@db/bank", open));
  EXPECT_FALSE(warned("postgresql://ann:hunter2@db/bank", fs::perms::owner_all));
  EXPECT_FALSE(warned("postgresql://ann@db/bank", open));
}

// The diagnostics of loading one statement for this store.
std::string said_of(const std::string& sql, const std::string& store) {
  const auto loaded = load_text(store +
                                    "\nconsumers: [{name: a, source: {queue: {}}, key: json:/id,\n"
                                    "  handler: {sql: {params: {id: json:/id}, statements: [\"" +
                                    sql + "\"]}}}]\n",
                                "semel.yaml");
  return loaded.config ? "" : loaded.diagnostics.front().code + loaded.diagnostics.front().message;
}

TEST(PostgresStoreConfig, SqlOfSqliteAloneIsRefused) {
  const std::string postgres = "store: { postgres: \"postgresql://db/bank\" }";
  for (const char* sql : {"REPLACE INTO t VALUES (:id)", "INSERT OR IGNORE INTO t VALUES (:id)",
                          "UPDATE OR REPLACE t SET a = :id", "DELETE FROM `t` WHERE id = :id"}) {
    EXPECT_TRUE(said_of(sql, postgres).starts_with("E034")) << sql << said_of(sql, postgres);
    EXPECT_EQ(said_of(sql, "store: { sqlite: x.db }"), "") << sql;
  }
  for (const char* sql :
       {"INSERT INTO t VALUES (:id::integer) ON CONFLICT DO NOTHING",
        "UPDATE t SET a = replace(a, :id, 'x')", "SELECT 1 FROM t WHERE id = :id FOR UPDATE"}) {
    EXPECT_EQ(said_of(sql, postgres), "") << sql;
  }
}

TEST(MySqlStoreConfig, SqlOfOthersAloneIsRefused) {
  const std::string mysql = "store: { mysql: \"mysql://db/bank\" }";
  for (const char* sql :
       {"INSERT INTO t VALUES (:id) ON CONFLICT DO NOTHING", "INSERT OR IGNORE INTO t VALUES (:id)",
        "UPDATE OR REPLACE t SET a = :id", "DELETE FROM t WHERE id = :id # of it"}) {
    EXPECT_TRUE(said_of(sql, mysql).starts_with("E034")) << sql << said_of(sql, mysql);
  }
  for (const char* sql : {"REPLACE INTO t VALUES (:id)", "DELETE FROM `t` WHERE id = :id",
                          "INSERT INTO t VALUES (:id) ON DUPLICATE KEY UPDATE a = a + 1",
                          "UPDATE t SET a = 'no # here' WHERE id = :id",
                          "SELECT 1 FROM t WHERE id = :id FOR UPDATE"}) {
    EXPECT_EQ(said_of(sql, mysql), "") << sql;
  }
}

}  // namespace
}  // namespace semel::config
