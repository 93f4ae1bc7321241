#include <semel/spi/recorded_statement.h>

#include <algorithm>
#include <utility>

#include "base/sql_lexer.h"

namespace semel {

Result<std::shared_ptr<const Statement>> admit_statement(std::string_view sql) {
  Result<sql::Lexed> lexed = sql::lex(sql);
  if (!lexed) return failure(std::move(lexed.error()));
  if (Result<void> admitted = sql::admit(*lexed); !admitted) {
    return failure(std::move(admitted.error()));
  }
  const auto named = std::find_if(lexed->params.begin(), lexed->params.end(),
                                  [](const std::string& name) { return !name.empty(); });
  if (named != lexed->params.end()) {
    return failure({ErrorKind::kRejected, "",
                    "the placeholder :" + *named + " has a name, and values come by their place",
                    "write `?`"});
  }
  auto statement = std::make_shared<Statement>();
  statement->sql = std::move(lexed->text);
  statement->placeholders = lexed->params.size();
  statement->returns_rows = lexed->returns_rows;
  statement->before_where = lexed->before_where;
  statement->writes = std::move(lexed->writes);
  return std::shared_ptr<const Statement>(std::move(statement));
}

std::optional<Otherwise> miss_of(const RecordedStatement& recorded, std::int64_t count,
                                 const Rows& rows) noexcept {
  if (recorded.expect_rows) {
    return *recorded.expect_rows == count ? std::nullopt : std::optional(recorded.otherwise);
  }
  return recorded.rule ? recorded.rule->judge(count, rows) : std::nullopt;
}

}  // namespace semel
