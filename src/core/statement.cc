#include <semel/spi/recorded_statement.h>

#include <algorithm>
#include <utility>
#include <variant>

#include <fmt/format.h>

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

namespace {

// "statement 2 changed 0 rows; its expect_rows is 1".
struct TellRows {
  const RecordedStatement& recorded;
  std::int64_t count;

  void operator()(Verdict::Done&) const {}
  template <class Details>
  void operator()(Details& details) const {
    const bool reads = recorded.statement != nullptr && recorded.statement->only_reads();
    details.reason +=
        fmt::format(" {} {} row{}; its expect_rows is {}", reads ? "returned" : "changed", count,
                    count == 1 ? "" : "s", *recorded.expect_rows);
  }
};

Otherwise with_rows(const RecordedStatement& recorded, std::int64_t count) {
  Otherwise told = recorded.otherwise;
  if (!told.tells_rows) return told;
  Verdict::Details details = std::move(told.verdict).details();
  std::visit(TellRows{recorded, count}, details);
  told.verdict = Verdict(std::move(details));
  return told;
}

}  // namespace

std::optional<Otherwise> miss_of(const RecordedStatement& recorded, std::int64_t count,
                                 const Rows& rows) noexcept {
  if (recorded.expect_rows) {
    return *recorded.expect_rows == count ? std::nullopt
                                          : std::optional(with_rows(recorded, count));
  }
  return recorded.rule ? recorded.rule->judge(count, rows) : std::nullopt;
}

}  // namespace semel
