#include "base/sql_tokens.h"

#include <optional>

#include <fmt/format.h>

#include "base/ascii.h"

namespace semel::sql {
namespace {

bool is_space(char c) noexcept {
  return c == ' ' || c == '\n' || c == '\r' || c == '\t' || c == '\f' || c == '\v';
}
bool begins_word(char c) noexcept {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
         static_cast<unsigned char>(c) >= 0x80;
}
bool continues_word(char c) noexcept { return begins_word(c) || ascii::is_digit(c) || c == '$'; }

class Tokenizer {
 public:
  explicit Tokenizer(std::string_view sql) : sql_(sql) {}

  Result<Tokens> run() {
    while (at_ < sql_.size() && !error_) next();
    if (!error_ && depth_ != 0) fail("a parenthesis is left open");
    if (error_) return failure(std::move(*error_));
    while (!out_.text.empty() && is_space(out_.text.back())) out_.text.pop_back();
    return std::move(out_);
  }

 private:
  char peek(std::size_t ahead = 0) const noexcept {
    return at_ + ahead < sql_.size() ? sql_[at_ + ahead] : '\0';
  }
  void fail(std::string message, std::string hint = "") {
    if (!error_) error_ = statement_error(std::move(message), std::move(hint));
  }

  void next() {
    const char c = peek();
    if (is_space(c)) {
      ++at_;
      if (!out_.text.empty()) out_.text += c;
    } else if (c == '-' && peek(1) == '-') {
      skip_comment("\n", false);
    } else if (c == '/' && peek(1) == '*') {
      skip_comment("*/", true);
    } else if (c == ';') {
      ++at_;
      ended_ = true;
    } else if (ended_) {
      fail("there is more than one statement", "give each statement by itself");
    } else {
      token(c);
    }
  }

  void skip_comment(std::string_view end, bool must_end) {
    const std::size_t found = sql_.find(end, at_ + 2);
    if (found == std::string_view::npos && must_end) fail("a comment is left open");
    at_ = found == std::string_view::npos ? sql_.size() : found + end.size();
    if (!out_.text.empty()) out_.text += ' ';
  }

  void token(char c) {
    if (c == '\'') return quoted(Token::Kind::kString, '\'');
    if (c == '"' || c == '`') return quoted(Token::Kind::kQuotedName, c);
    if (c == '[') return quoted(Token::Kind::kQuotedName, ']');
    if (begins_word(c)) return word();
    if (ascii::is_digit(c)) return number();
    if (c == '?') return bare_placeholder();
    if (c == ':') return colon();
    if (c == '@' || c == '$') return foreign_placeholder(c);
    symbol(c);
  }

  void emit(Token::Kind kind, std::string_view written, std::string text) {
    const std::size_t at = out_.text.size();
    out_.text += written;
    out_.tokens.push_back({kind, std::move(text), std::string(written), depth_, at});
  }

  // A doubled closing quote is one quote, except in brackets.
  void quoted(Token::Kind kind, char close) {
    const std::size_t begin = at_++;
    std::string text;
    for (;; ++at_) {
      if (at_ == sql_.size()) return fail(fmt::format("a {} is left open", sql_[begin]));
      if (sql_[at_] == '\0') return fail("a NUL stands in the statement");
      if (sql_[at_] == close) {
        if (close == ']' || peek(1) != close) break;
        ++at_;
      }
      text += sql_[at_];
    }
    ++at_;
    emit(kind, sql_.substr(begin, at_ - begin), std::move(text));
  }

  void word() {
    const std::size_t begin = at_;
    while (at_ < sql_.size() && continues_word(sql_[at_])) ++at_;
    const std::string_view written = sql_.substr(begin, at_ - begin);
    emit(Token::Kind::kWord, written, ascii::upper(written));
  }

  void number() {
    const std::size_t begin = at_;
    while (at_ < sql_.size() && (continues_word(sql_[at_]) || sql_[at_] == '.')) ++at_;
    const std::string_view written = sql_.substr(begin, at_ - begin);
    emit(Token::Kind::kNumber, written, std::string(written));
  }

  void placeholder(std::string name) {
    out_.params.push_back(std::move(name));
    emit(Token::Kind::kPlaceholder, "?", "?");
  }

  void bare_placeholder() {
    if (ascii::is_digit(peek(1))) return fail("numbered placeholders are not taken", "write `?`");
    ++at_;
    placeholder("");
  }

  void colon() {
    if (peek(1) == ':') {
      emit(Token::Kind::kSymbol, "::", "::");
      at_ += 2;
      return;
    }
    const std::size_t begin = ++at_;
    while (at_ < sql_.size() && continues_word(sql_[at_])) ++at_;
    if (at_ == begin || !begins_word(sql_[begin])) return fail("':' begins no name");
    placeholder(std::string(sql_.substr(begin, at_ - begin)));
  }

  void foreign_placeholder(char c) {
    if (c == '$' || continues_word(peek(1)) || peek(1) == '@') {
      return fail(fmt::format("placeholders that begin with '{}' are not taken", c),
                  "write `?` or `:name`");
    }
    symbol(c);
  }

  void symbol(char c) {
    if (c == '\0') return fail("a NUL stands in the statement");
    if (c == ')') {
      if (depth_ == 0) return fail("a parenthesis is closed that was not opened");
      --depth_;
    }
    emit(Token::Kind::kSymbol, sql_.substr(at_, 1), std::string(1, c));
    if (c == '(') ++depth_;
    ++at_;
  }

  std::string_view sql_;
  std::size_t at_ = 0;
  std::size_t depth_ = 0;
  bool ended_ = false;
  Tokens out_;
  std::optional<Error> error_;
};

}  // namespace

std::string table_at(const std::vector<Token>& tokens, std::size_t& i) {
  if (i >= tokens.size() || !tokens[i].is_name()) return "";
  while (i + 2 < tokens.size() && tokens[i + 1].is_symbol('.') && tokens[i + 2].is_name()) i += 2;
  const Token& last = tokens[i++];
  return last.kind == Token::Kind::kWord ? last.written : last.text;
}

Error statement_error(std::string message, std::string hint) {
  return {ErrorKind::kRejected, "", std::move(message), std::move(hint)};
}

Result<Tokens> tokenize(std::string_view sql) { return Tokenizer(sql).run(); }

}  // namespace semel::sql
