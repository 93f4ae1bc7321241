#include "core/row_select.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "base/sql_lexer.h"
#include "base/sql_tokens.h"

namespace semel::core {
namespace {

tl::unexpected<Error> refuse_select(std::string message, std::string hint) {
  return failure({ErrorKind::kRejected, {}, std::move(message), std::move(hint)});
}

// A SELECT that only reads, split into tokens.
class Select {
 public:
  static Result<Select> read(std::string_view text) {
    auto lexed = sql::lex(text);
    if (!lexed) return failure(std::move(lexed.error()));
    if (lexed->verb != "SELECT" || !lexed->writes.empty()) {
      return refuse_select(fmt::format("it must only read, but this is {}",
                                       lexed->verb.empty() ? "no statement" : lexed->verb),
                           "write a SELECT");
    }
    auto tokens = sql::tokenize(text);
    if (!tokens) return failure(std::move(tokens.error()));
    Select made(*std::move(tokens));
    for (const char* word : {"UNION", "INTERSECT", "EXCEPT"}) {
      if (made.find(word)) {
        return refuse_select(fmt::format("{} may not stand in it", word),
                             "read the row by one SELECT");
      }
    }
    if (!made.from()) return refuse_select("it reads no table", "write SELECT … FROM the table");
    return made;
  }

  // Where its FROM begins; that of IS DISTINCT FROM does not count.
  std::optional<std::size_t> from() const {
    for (std::size_t i = 1; i < tokens().size(); ++i) {
      if (top(i, "FROM") && !tokens()[i - 1].is_word("DISTINCT")) return i;
    }
    return std::nullopt;
  }
  // The position of the clause that locks rows; FOR with another meaning does not count.
  std::optional<std::size_t> locking() const {
    for (std::size_t i = 0; i + 1 < tokens().size(); ++i) {
      if (!top(i, "FOR")) continue;
      for (const char* word : {"UPDATE", "NO", "SHARE", "KEY"}) {
        if (tokens()[i + 1].is_word(word)) return i;
      }
    }
    return std::nullopt;
  }
  // FOR [NO KEY] UPDATE [OF name, …], and nothing after it.
  bool locks_to_its_end(std::size_t at) const {
    ++at;
    if (word(at, "NO") && word(at + 1, "KEY")) at += 2;
    if (!word(at, "UPDATE")) return false;
    if (++at == tokens().size()) return true;
    if (!word(at, "OF")) return false;
    return std::all_of(tokens().begin() + static_cast<std::ptrdiff_t>(at) + 1, tokens().end(),
                       [](const sql::Token& token) {
                         const bool option = token.is_word("NOWAIT") || token.is_word("SKIP") ||
                                             token.is_word("LOCKED") || token.is_word("LIMIT");
                         return !option &&
                                (token.is_name() || token.is_symbol(',') || token.is_symbol('.'));
                       });
  }
  // The table after FROM; empty where there is a subquery or a function.
  std::string table() const {
    std::size_t i = *from() + 1;
    if (word(i, "ONLY")) ++i;
    std::string name = sql::table_at(tokens(), i);
    return i < tokens().size() && tokens()[i].is_symbol('(') ? "" : name;
  }

  // Its text from token `begin` to `end`, with the params by their names again.
  std::string text(std::size_t begin, std::size_t end) const {
    std::string out;
    std::size_t param = 0;
    for (std::size_t i = 0; i < end; ++i) {
      const sql::Token& token = tokens()[i];
      const bool named = token.kind == sql::Token::Kind::kPlaceholder;
      if (i >= begin) {
        const std::size_t next = i + 1 < tokens().size() ? tokens()[i + 1].at : all_.text.size();
        const std::size_t past = token.at + token.written.size();
        const std::string& name = named ? all_.params[param] : token.written;
        out += named && !name.empty() ? ':' + name : token.written;
        out += all_.text.substr(past, next - past);
      }
      if (named) ++param;
    }
    return out;
  }
  std::size_t size() const noexcept { return tokens().size(); }

 private:
  explicit Select(sql::Tokens all) : all_(std::move(all)) {}

  const std::vector<sql::Token>& tokens() const noexcept { return all_.tokens; }
  bool word(std::size_t i, std::string_view upper) const {
    return i < tokens().size() && tokens()[i].is_word(upper);
  }
  bool top(std::size_t i, std::string_view upper) const {
    return tokens()[i].depth == 0 && tokens()[i].is_word(upper);
  }
  std::optional<std::size_t> find(std::string_view upper) const {
    for (std::size_t i = 0; i < tokens().size(); ++i) {
      if (top(i, upper)) return i;
    }
    return std::nullopt;
  }

  sql::Tokens all_;
};

// Where the part that runs in the database ends.
Result<std::size_t> end_of(const Select& select, RowLocks locks, bool must_lock) {
  const auto locking = select.locking();
  if (locking && !select.locks_to_its_end(*locking)) {
    return refuse_select(
        "its lock must be FOR UPDATE, the last words of it: what is locked is waited for",
        "end it with FOR UPDATE");
  }
  if (locking) return locks == RowLocks::kOneWriter ? *locking : select.size();
  if (must_lock && locks == RowLocks::kForUpdate) {
    return refuse_select("it locks no row: another transaction may change it meanwhile",
                         "end it with FOR UPDATE");
  }
  return select.size();
}

}  // namespace

Result<std::string> lock_select(std::string_view select, std::string_view done_when,
                                RowLocks locks) {
  auto read = Select::read(select);
  if (!read) return failure(std::move(read.error()));
  const auto end = end_of(*read, locks, true);
  if (!end) return failure(end.error());
  // Complete by itself: it goes between parentheses.
  if (auto condition = sql::tokenize(done_when); !condition) {
    return failure(std::move(condition.error()));
  } else if (condition->tokens.empty()) {
    return refuse_select("it is empty", "write a condition over the row, as status = 'PAID'");
  }
  const std::size_t from = *read->from();
  std::string made = read->text(0, from);
  made.erase(made.find_last_not_of(" \n\r\t") + 1);
  // The newline: a comment in it must not swallow what follows.
  made += fmt::format(", CASE WHEN ({}\n) THEN 1 ELSE 0 END AS semel_done ", done_when);
  return made + read->text(from, *end);
}

Result<VersionSelect> version_select(std::string_view select, RowLocks locks) {
  auto read = Select::read(select);
  if (!read) return failure(std::move(read.error()));
  const auto end = end_of(*read, locks, false);
  if (!end) return failure(end.error());
  VersionSelect made{read->text(0, *end), read->table()};
  if (made.table.empty()) {
    return refuse_select("no table stands behind its FROM", "read the version from its table");
  }
  return made;
}

}  // namespace semel::core
