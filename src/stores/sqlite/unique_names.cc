#include "stores/sqlite/unique_names.h"

#include <sqlite3.h>

#include <array>
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

// The first `Columns` columns of each row.
template <std::size_t Columns>
std::vector<std::array<std::string, Columns>> rows_of(Connection& connection, const char* sql,
                                                      std::initializer_list<std::string> values) {
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
  std::vector<std::array<std::string, Columns>> rows;
  int code = SQLITE_ROW;
  while ((code = sqlite3_step(statement.get())) == SQLITE_ROW) {
    auto& row = rows.emplace_back();
    for (std::size_t i = 0; i < Columns; ++i) row[i] = text(static_cast<int>(i));
  }
  if (code != SQLITE_DONE) connection.raise(code);
  return rows;
}

// CREATE UNIQUE INDEX name ON table(…) WHERE …: the text in its first pair of parentheses.
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
    for (auto& [table, sql] : rows_of<2>(connection,
                                         "SELECT tbl_name, sql FROM main.sqlite_schema "
                                         "WHERE type = 'index' AND name = ?",
                                         {told.constraint})) {
      names.push_back({kMainDatabase, std::move(table), told.constraint, columns_in(sql)});
    }
    return names;
  }
  for (auto& [index, columns] :
       rows_of<2>(connection,
                  "SELECT l.name, (SELECT group_concat(i.name, ',') FROM "
                  "(SELECT name FROM pragma_index_info(l.name) ORDER BY seqno) AS i) AS columns "
                  "FROM pragma_index_list(?) AS l WHERE l.\"unique\" AND columns = ?",
                  {told.table, told.columns})) {
    names.push_back({kMainDatabase, told.table, std::move(index), std::move(columns)});
  }
  // SQLite reports columns only: of several indexes on them, perhaps partial ones, the right one is
  // unknown.
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

std::vector<core::UniqueName> unique_names_in(Connection& connection) {
  std::vector<core::UniqueName> names;
  // The primary key of a table with rowids may have no index.
  for (auto& [table, column] :
       rows_of<2>(connection,
                  "SELECT m.name, t.name FROM main.sqlite_schema AS m JOIN "
                  "pragma_table_info(m.name) AS t WHERE m.type = 'table' AND t.pk > 0 GROUP BY "
                  "m.name HAVING count(*) = 1 UNION ALL "
                  "SELECT name, 'rowid' FROM main.sqlite_schema WHERE type = 'table'",
                  {})) {
    names.push_back({kMainDatabase, std::move(table), "", std::move(column)});
  }
  // A column that is an expression has no name: then the index was made by a statement.
  for (auto& [table, index, columns, sql] : rows_of<4>(
           connection,
           "SELECT m.name, l.name, (SELECT group_concat(coalesce(i.name, '('), ',') FROM "
           "(SELECT name FROM pragma_index_info(l.name) ORDER BY seqno) AS i), (SELECT x.sql "
           "FROM main.sqlite_schema AS x WHERE x.type = 'index' AND x.name = l.name) FROM "
           "main.sqlite_schema AS m JOIN pragma_index_list(m.name) AS l WHERE m.type = "
           "'table' AND l.\"unique\"",
           {})) {
    const bool expressions = columns.find('(') != std::string::npos;
    names.push_back({kMainDatabase, std::move(table), std::move(index),
                     expressions ? columns_in(sql) : std::move(columns)});
  }
  return names;
}

const UniqueRule* rule_for(const std::vector<UniqueRule>& rules, std::string_view said,
                           Connection& connection) {
  const auto told = unique_name_in(said);
  if (!told) return nullptr;
  if (const UniqueRule* const found = core::rule_for(rules, {&*told, 1})) return found;
  try {
    return core::rule_for(rules, names_in_schema(*told, connection));
  } catch (...) {
    return nullptr;  // the owner of a borrowed connection may forbid the query
  }
}

}  // namespace semel::sqlite
