// FileFacts: a file's answers to LiveChecks.
#pragma once

#include "stores/sql/facts.h"

namespace semel::sqlite {

// `statements` are those of a Connection.
class FileFacts final : public sql::LiveFacts {
 public:
  std::vector<LiveSetting> settings(sql::Statements& statements) override;
  LiveStatement statement(sql::Statements& statements, const Statement& statement) override;
  std::vector<core::UniqueName> unique_names(sql::Statements& statements,
                                             std::span<const Statement> handled) override;
};

}  // namespace semel::sqlite
