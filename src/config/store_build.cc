#include "config/store_build.h"

#include <filesystem>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/passwords.h"
#include "base/sql_tokens.h"
#include "config/node.h"
#include "config/secrets.h"

namespace semel::config {
namespace {

constexpr std::string_view kAddress = "postgresql://user@host/database";

void check_address(const Setting& url, Report& report) {
  const bool uri = url.text.starts_with("postgresql://") || url.text.starts_with("postgres://");
  const bool pairs =
      url.text.find("://") == std::string::npos && url.text.find('=') != std::string::npos;
  if (!uri && !pairs) {
    auto& made = report.error("E014", url.place, url.path,
                              url.path + ": the value is not the address of a PostgreSQL database");
    made.excerpt.clear();
    made.help = fmt::format("write {}, or host=… dbname=…", kAddress);
    return;
  }
  const bool in_file = url.place.source == 0 && is_literal(url);
  if (in_file && !passwords_in(url.text).empty() && others_may_read(report.name(0))) {
    warn_of_secret(url, "a literal password, in a file that others may read",
                   "${DATABASE_URL}, a password in ~/.pgpass, or chmod 600 " + report.name(0),
                   report);
  }
}

PostgresStore build_postgres(const View& postgres, Report& report) {
  if (const auto* url = postgres.find("url")) check_address(*url, report);
  return {postgres.text("url"), postgres.text("schema"),
          static_cast<std::size_t>(postgres.number("pool"))};
}

// What SQLite takes and PostgreSQL does not; all else the server says.
std::optional<std::string> flaw_for_postgres(const std::vector<sql::Token>& tokens) {
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (tokens[i].kind == sql::Token::Kind::kQuotedName && tokens[i].written.front() == '`') {
      return "`name`";
    }
    const bool may_replace = i == 0 || !tokens[i - 1].is_symbol('.');
    const bool into = i + 1 < tokens.size() && tokens[i + 1].is_word("INTO");
    if (may_replace && tokens[i].is_word("REPLACE") && into) return "REPLACE INTO";
    const bool writes = tokens[i].is_word("INSERT") || tokens[i].is_word("UPDATE");
    if (writes && i + 1 < tokens.size() && tokens[i + 1].is_word("OR")) {
      return tokens[i].text + " OR";
    }
  }
  return std::nullopt;
}

}  // namespace

std::string resolve_path(const std::string& folder, const std::string& path) {
  return (std::filesystem::path(folder) / path).lexically_normal().string();
}

StoreConfig build_store(const View& store, const std::string& folder, Report& report) {
  StoreConfig made;
  if (store.text("on_unavailable") == "fail") {
    made.on_unavailable = StoreConfig::OnUnavailable::kFail;
  }
  if (store.written("sqlite")) {
    // Also where another one stands beside it, which is reported already.
  } else if (store.written("postgres")) {
    made.kind = build_postgres(store.in("postgres"), report);
    return made;
  } else if (store.written("memory")) {
    made.kind = MemoryStore{static_cast<std::size_t>(store.in("memory").number("max_records"))};
    return made;
  }
  const auto sqlite = store.in("sqlite");
  made.kind = SqliteStore{resolve_path(folder, sqlite.text("path")),
                          static_cast<std::size_t>(sqlite.number("generation_rows"))};
  return made;
}

void check_dialect(const StoreConfig& store, const View& consumer, Report& report) {
  if (!std::holds_alternative<PostgresStore>(store.kind)) return;
  const auto& settings = consumer.settings();
  for (const char* part : {"handler.sql.statements", "handler.apply.sql.statements"}) {
    const auto list = consumer.path(part);
    for (std::size_t i = 0; i < settings.size(list); ++i) {
      const auto* statement = settings.find(join_path(list, i) + ".sql");
      const auto read = statement != nullptr ? sql::tokenize(statement->text) : sql::Tokens();
      if (!read) continue;
      const auto flaw = flaw_for_postgres(read->tokens);
      if (!flaw) continue;
      report
          .error("E034", statement->place, statement->path,
                 fmt::format("{}: {} is not PostgreSQL's", statement->path, *flaw))
          .help = *flaw == "`name`" ? "quote names with \"\""
                                    : "write INSERT … ON CONFLICT (…) DO NOTHING, or DO UPDATE";
    }
  }
}

}  // namespace semel::config
