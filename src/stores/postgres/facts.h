// Facts about the tables from a PostgreSQL server.
#pragma once

#include "stores/postgres/connection.h"
#include "stores/sql/facts.h"

namespace semel::postgres {

class Facts final : public sql::Facts {
 public:
  explicit Facts(const Dialect& dialect, std::string_view schema);

  std::size_t bytes(sql::Session& session) override;
  std::optional<std::size_t> about_records(sql::Session& session, std::int64_t generation) override;
  std::vector<StoreFinding> verify(sql::Session& session, bool full) override;
  std::vector<LiveSetting> settings(sql::Statements& statements) override;
  LiveStatement statement(sql::Statements& statements, const Statement& statement) override;
  std::vector<core::UniqueName> unique_names(sql::Statements& statements,
                                             std::span<const Statement> handled) override;

 private:
  LiveStatement forbidden_in(Connection& connection, const std::string& text,
                             std::size_t placeholders);

  const std::string schema_;
  const sql::SqlText bytes_;
  const sql::SqlText about_;
  const sql::SqlText unnamed_;
  const sql::SqlText missing_;
  const sql::SqlText settings_;
  const sql::SqlText unique_names_;
  const sql::SqlText may_draw_;
};

}  // namespace semel::postgres
