// Facts about the tables from a MariaDB or MySQL server.
#pragma once

#include "stores/sql/facts.h"

namespace semel::mysql {

class Facts final : public sql::Facts {
 public:
  explicit Facts(const sql::Dialect& dialect);

  std::size_t bytes(sql::Session& session) override;
  std::optional<std::size_t> about_records(sql::Session& session, std::int64_t generation) override;
  std::vector<StoreFinding> verify(sql::Session& session, bool full) override;
  std::vector<LiveSetting> settings(sql::Statements& statements) override;
  LiveStatement statement(sql::Statements& statements, const Statement& statement) override;
  std::vector<core::UniqueName> unique_names(sql::Statements& statements,
                                             std::span<const Statement> handled) override;

 private:
  const sql::SqlText bytes_;
  const sql::SqlText about_;
  const sql::SqlText check_;
  const sql::SqlText unlisted_;
  const sql::SqlText settings_;
  const sql::SqlText engine_;
};

}  // namespace semel::mysql
