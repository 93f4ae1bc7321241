#include "stores/sqlite/unique_names.h"

#include <sqlite3.h>

#include <initializer_list>
#include <memory>
#include <string>
#include <utility>

namespace semel::sqlite {
namespace {

constexpr const char* kMainDatabase = "main";

struct Finalize {
  void operator()(sqlite3_stmt* statement) const noexcept { sqlite3_finalize(statement); }
};

// The two columns of each row.
std::vector<std::pair<std::string, std::string>> rows_of(
    Connection& connection, const char* sql, std::initializer_list<std::string> values) {
  const std::unique_ptr<sqlite3_stmt, Finalize> statement(connection.prepare(sql));
  int at = 0;
  for (const std::string& value : values) {
    sqlite3_bind_text64(statement.get(), ++at, value.data(), value.size(), SQLITE_TRANSIENT,
                        SQLITE_UTF8);
  }
  const auto text = [&](int column) {
    const auto* const said =
        reinterpret_cast<const char*>(sqlite3_column_text(statement.get(), column));
    return std::string(said != nullptr ? said : "");
  };
  std::vector<std::pair<std::string, std::string>> rows;
  int code = SQLITE_ROW;
  while ((code = sqlite3_step(statement.get())) == SQLITE_ROW) {
    rows.emplace_back(text(0), text(1));
  }
  if (code != SQLITE_DONE) connection.raise(code);
  return rows;
}

// CREATE UNIQUE INDEX name ON table(…) WHERE …: what stands between its first pair of parentheses.
std::string columns_in(const std::string& sql) {
  const std::size_t open = sql.find('(');
  int depth = 0;
  for (std::size_t at = open; at < sql.size(); ++at) {
    if (sql[at] == '(') ++depth;
    if (sql[at] == ')' && --depth == 0) return sql.substr(open + 1, at - open - 1);
  }
  return {};
}

std::vector<core::UniqueName> names_in_schema(const core::UniqueName& told,
                                              Connection& connection) {
  std::vector<core::UniqueName> names;
  if (told.table.empty()) {
    for (auto& [table, sql] : rows_of(connection,
                                      "SELECT tbl_name, sql FROM main.sqlite_schema "
                                      "WHERE type = 'index' AND name = ?",
                                      {told.constraint})) {
      names.push_back({kMainDatabase, std::move(table), told.constraint, columns_in(sql)});
    }
    return names;
  }
  for (auto& [index, columns] :
       rows_of(connection,
               "SELECT l.name, (SELECT group_concat(i.name, ',') FROM "
               "(SELECT name FROM pragma_index_info(l.name) ORDER BY seqno) AS i) AS columns "
               "FROM pragma_index_list(?) AS l WHERE l.\"unique\" AND columns = ?",
               {told.table, told.columns})) {
    names.push_back({kMainDatabase, told.table, std::move(index), std::move(columns)});
  }
  // SQLite tells columns alone: of several indexes on them, partial ones perhaps, it tells none.
  if (names.size() > 1) names.clear();
  return names;
}

}  // namespace

// "t.a, t.b" is t(a,b); "index 'name'" is name.
std::optional<core::UniqueName> unique_name_in(std::string_view said) {
  constexpr std::string_view kUnique = "UNIQUE constraint failed: ";
  if (!said.starts_with(kUnique)) return std::nullopt;
  said.remove_prefix(kUnique.size());
  constexpr std::string_view kIndex = "index '";
  if (said.starts_with(kIndex)) {
    const std::string_view name = said.substr(kIndex.size(), said.size() - kIndex.size() - 1);
    return core::UniqueName{kMainDatabase, "", std::string(name), ""};
  }
  const std::size_t dot = said.find('.');
  if (dot == std::string_view::npos) return std::nullopt;
  const std::string_view table = said.substr(0, dot + 1);
  core::UniqueName name{kMainDatabase, std::string(said.substr(0, dot)), "", ""};
  while (!said.empty()) {
    const std::size_t end = said.find(", " + std::string(table));
    std::string_view column = said.substr(0, end);
    if (column.starts_with(table)) column.remove_prefix(table.size());
    name.columns += column;
    if (end == std::string_view::npos) break;
    name.columns += ',';
    said.remove_prefix(end + 2);
  }
  return name;
}

const UniqueRule* rule_for(const std::vector<UniqueRule>& rules, std::string_view said,
                           Connection& connection) {
  const auto told = unique_name_in(said);
  if (!told) return nullptr;
  if (const UniqueRule* const found = core::rule_for(rules, {&*told, 1})) return found;
  try {
    return core::rule_for(rules, names_in_schema(*told, connection));
  } catch (...) {
    return nullptr;  // the owner of a borrowed connection may forbid the look
  }
}

}  // namespace semel::sqlite
