#include "config/store_build.h"

#include <algorithm>
#include <filesystem>
#include <initializer_list>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/passwords.h"
#include "base/sql_tokens.h"
#include "config/node.h"
#include "config/secrets.h"

namespace semel::config {
namespace {

bool is_pairs(std::string_view url) {
  return url.find("://") == std::string::npos && url.find('=') != std::string::npos;
}

bool has_scheme(std::string_view url, std::initializer_list<std::string_view> schemes) {
  const std::string_view scheme = url.substr(0, url.find("://"));
  return scheme.size() != url.size() &&
         std::find(schemes.begin(), schemes.end(), scheme) != schemes.end();
}

// A text that is not an address is not shown, because it may be a password.
void refuse_address(const Setting& url, const char* server, const char* help, Report& report) {
  auto& made =
      report.error("E014", url.place, url.path,
                   fmt::format("{}: the value is not the address of a {}", url.path, server));
  made.excerpt.clear();
  made.help = help;
}

void warn_of_password(const Setting& url, const char* elsewhere, Report& report) {
  const bool in_file = url.place.source == 0 && is_literal(url);
  if (!in_file || passwords_in(url.text).empty() || !others_may_read(report.name(0))) return;
  warn_of_secret(url, "a literal password, in a file that others may read",
                 fmt::format("${{DATABASE_URL}}, {}or chmod 600 {}", elsewhere, report.name(0)),
                 report);
}

PostgresOptions build_postgres(const View& postgres, Report& report) {
  if (const auto* url = postgres.find("url")) {
    if (has_scheme(url->text, {"postgresql", "postgres"}) || is_pairs(url->text)) {
      warn_of_password(*url, "a password in ~/.pgpass, ", report);
    } else {
      refuse_address(*url, "PostgreSQL database",
                     "write postgresql://user@host/database, or host=… dbname=…", report);
    }
  }
  PostgresOptions made;
  postgres.fill(made);
  return made;
}

MySqlOptions build_mysql(const View& mysql, Report& report) {
  if (const auto* url = mysql.find("url")) {
    if (has_scheme(url->text, {"mysql", "mariadb"})) {
      warn_of_password(*url, "", report);
    } else {
      refuse_address(*url, "MariaDB or MySQL database", "write mysql://user@host/database", report);
    }
  }
  MySqlOptions made;
  mysql.fill(made);
  return made;
}

RedisOptions build_redis(const View& redis, Report& report) {
  check_redis_place(redis, report);
  RedisOptions made;
  redis.fill(made);
  // The schema allows only one word in this list.
  made.accept_eviction = redis.settings().size(redis.path("accept")) > 0;
  return made;
}

// A construct that a server certainly does not accept, and its replacement.
struct DialectFlaw {
  std::string what;
  const char* help;
};

// REPLACE INTO, INSERT OR …, UPDATE OR …: only SQLite accepts these.
std::optional<std::string> conflict_words(const std::vector<sql::Token>& tokens, std::size_t i,
                                          bool replace_too) {
  const bool may_replace = i == 0 || !tokens[i - 1].is_symbol('.');
  const bool into = i + 1 < tokens.size() && tokens[i + 1].is_word("INTO");
  if (replace_too && may_replace && tokens[i].is_word("REPLACE") && into) return "REPLACE INTO";
  const bool writes = tokens[i].is_word("INSERT") || tokens[i].is_word("UPDATE");
  if (writes && i + 1 < tokens.size() && tokens[i + 1].is_word("OR")) return tokens[i].text + " OR";
  return std::nullopt;
}

std::optional<DialectFlaw> flaw_for_postgres(const std::vector<sql::Token>& tokens) {
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (tokens[i].kind == sql::Token::Kind::kQuotedName && tokens[i].written.front() == '`') {
      return DialectFlaw{"`name`", "quote names with \"\""};
    }
    if (auto words = conflict_words(tokens, i, true)) {
      return DialectFlaw{*std::move(words),
                         "write INSERT … ON CONFLICT (…) DO NOTHING, or DO UPDATE"};
    }
  }
  return std::nullopt;
}

std::optional<DialectFlaw> flaw_for_mysql(const std::vector<sql::Token>& tokens) {
  constexpr const char* kInstead = "write INSERT … ON DUPLICATE KEY UPDATE …";
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (auto words = conflict_words(tokens, i, false))
      return DialectFlaw{*std::move(words), kInstead};
    const bool conflict = i + 1 < tokens.size() && tokens[i + 1].is_word("CONFLICT");
    if (tokens[i].is_word("ON") && conflict) return DialectFlaw{"ON CONFLICT", kInstead};
    if (tokens[i].is_symbol('#')) return DialectFlaw{"#", "write comments as -- or /* */"};
  }
  return std::nullopt;
}

}  // namespace

std::string resolve_path(const std::string& folder, const std::string& path) {
  return (std::filesystem::path(folder) / path).lexically_normal().string();
}

void check_redis_url(const View& redis, Report& report) {
  const auto* url = redis.find("url");
  if (url == nullptr) return;
  if (has_scheme(url->text, {"redis", "rediss", "redis+unix", "unix"})) {
    warn_of_password(*url, "", report);
  } else {
    refuse_address(*url, "Redis server", "write redis://:password@host:6379/0", report);
  }
}

void check_redis_place(const View& redis, Report& report) {
  check_redis_url(redis, report);
  const auto* prefix = redis.find("prefix");
  if (prefix != nullptr && prefix->text.find_first_of("{}") != std::string::npos) {
    report
        .error("E014", prefix->place, prefix->path,
               fmt::format("{}: it has a brace, and braces choose the node of a Cluster",
                           prefix->path))
        .help = "leave braces out: semel:";
  }
}

StoreConfig build_store(const View& store, const std::string& folder, Report& report) {
  StoreConfig made;
  store.fill(made);
  if (store.written("sqlite")) {
    // If another store is named too, that is reported elsewhere.
  } else if (store.written("postgres")) {
    made.kind = build_postgres(store.in("postgres"), report);
    return made;
  } else if (store.written("mysql")) {
    made.kind = build_mysql(store.in("mysql"), report);
    return made;
  } else if (store.written("redis")) {
    made.kind = build_redis(store.in("redis"), report);
    return made;
  } else if (store.written("memory")) {
    store.in("memory").fill(made.kind.emplace<MemoryOptions>());
    return made;
  }
  auto& sqlite = made.kind.emplace<SqliteOptions>();
  store.in("sqlite").fill(sqlite);
  sqlite.path = resolve_path(folder, sqlite.path);
  return made;
}

void check_dialect(const StoreConfig& store, const View& consumer, Report& report) {
  const bool postgres = std::holds_alternative<PostgresOptions>(store.kind);
  if (!postgres && !std::holds_alternative<MySqlOptions>(store.kind)) return;
  const auto& settings = consumer.settings();
  for (const char* part : {"handler.sql.statements", "handler.apply.sql.statements"}) {
    const auto list = consumer.path(part);
    for (std::size_t i = 0; i < settings.size(list); ++i) {
      const auto* statement = settings.find(join_path(list, i) + ".sql");
      const auto read = statement != nullptr ? sql::tokenize(statement->text) : sql::Tokens();
      if (!read) continue;
      const auto flaw = postgres ? flaw_for_postgres(read->tokens) : flaw_for_mysql(read->tokens);
      if (!flaw) continue;
      report
          .error("E034", statement->place, statement->path,
                 fmt::format("{}: {} is not {}", statement->path, flaw->what,
                             postgres ? "PostgreSQL's" : "MySQL's"))
          .help = flaw->help;
    }
  }
}

}  // namespace semel::config
