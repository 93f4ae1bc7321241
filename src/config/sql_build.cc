#include "config/sql_build.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/sql_lexer.h"
#include "base/sql_tokens.h"
#include "config/node.h"
#include "config/suggest.h"

namespace semel::config {
namespace {

// How many lines below the beginning of a value are searched for its text.
constexpr int kLinesSearched = 400;

Otherwise otherwise_of(const std::string& word, std::string why) {
  Otherwise made;
  if (word == "duplicate") {
    made.duplicate = true;
  } else if (word == "retry") {
    made.verdict = retry(std::move(why));
  } else if (word == "dead") {
    made.verdict = dead(std::move(why));
  } else if (word == "discard") {
    made.verdict = discard(std::move(why));
  } else {
    made.verdict = done();
  }
  return made;
}

core::SqlParam build_param(const View& param) {
  core::SqlParam made;
  param.fill(made);
  if (const auto* from = param.find("from")) {
    constexpr std::string_view kAnswer = "answer:";
    const std::string_view text = from->text;
    made.of_answer = text.starts_with(kAnswer);
    made.pointer = json::Pointer::parse(text.substr(text.find(':') + 1)).value();
  }
  return made;
}

bool is_param_name(std::string_view name) {
  if (name.empty() || (name[0] >= '0' && name[0] <= '9')) return false;
  return std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  });
}

std::string trimmed(std::string_view text) {
  const auto from = text.find_first_not_of(' ');
  const auto to = text.find_last_not_of(' ');
  return from == std::string_view::npos ? "" : std::string(text.substr(from, to - from + 1));
}

// `order_log(order_id, lower(sku))` in a normal form; nullopt if it is malformed.
std::optional<std::string> table_and_columns(std::string_view written, std::size_t open) {
  if (open == 0 || !written.ends_with(')')) return std::nullopt;
  std::string made = trimmed(written.substr(0, open)) + "(";
  std::string_view columns = written.substr(open + 1, written.size() - open - 2);
  int depth = 0;
  std::size_t from = 0;
  for (std::size_t at = 0; at <= columns.size(); ++at) {
    const char c = at < columns.size() ? columns[at] : ',';
    if (c == '(') ++depth;
    if (c == ')') --depth;
    if (depth < 0 || (at == columns.size() && depth != 0)) return std::nullopt;
    if (c != ',' || depth != 0) continue;
    const std::string column = trimmed(columns.substr(from, at - from));
    if (column.empty()) return std::nullopt;
    made += (from == 0 ? "" : ", ") + column;
    from = at + 1;
  }
  return made + ")";
}

// A table with columns in a normal form, or the name of a constraint.
std::optional<std::string> constraint_of(std::string_view written) {
  const auto open = written.find('(');
  if (open != std::string_view::npos) return table_and_columns(written, open);
  std::string name = trimmed(written);
  const bool quoted = name.find('"') != std::string::npos;
  if (name.empty() || (!quoted && name.find_first_of(" ),;") != std::string::npos)) {
    return std::nullopt;
  }
  return name;
}

void build_unique_rules(const View& sql, core::SqlSpec& spec, Report& report) {
  for (const auto& name : sql.settings().names(sql.path("on_unique_violation"))) {
    const auto path = join_path(sql.path("on_unique_violation"), name.text);
    const auto constraint = constraint_of(name.text);
    if (!constraint) {
      report
          .error("E037", name.place, path,
                 fmt::format("{}: {} names no unique constraint", sql.path("on_unique_violation"),
                             in_quotes(name.text)))
          .help =
          "write table(column, …), for example order_log(order_id): duplicate, or the "
          "constraint's name";
      continue;
    }
    const auto* word = sql.settings().find(path);
    if (word == nullptr) continue;
    spec.on_unique_violation.push_back(
        {*constraint, otherwise_of(word->text, *constraint + " is there already")});
  }
}

// Lexes the statement and checks its parameters against `spec`; those that it uses are added to
// `used`. nullopt if anything in it is wrong.
std::optional<sql::Lexed> check_statement(const Setting& value, const core::SqlSpec& spec,
                                          std::set<std::string>& used, Report& report) {
  auto lexed = sql::lex(value.text);
  auto admitted = lexed ? sql::admit(*lexed) : Result<void>();
  if (!lexed || !admitted) {
    const auto& problem = lexed ? admitted.error() : lexed.error();
    auto& made = report.error("E034", value.place, value.path,
                              fmt::format("{}: {}", value.path, problem.message));
    made.help = !problem.hint.empty() ? problem.hint
                : lexed ? "write one SELECT, INSERT, UPDATE, DELETE, REPLACE, VALUES or WITH"
                        : "write one whole statement, its quotes closed";
    return std::nullopt;
  }
  used.insert(lexed->params.begin(), lexed->params.end());
  if (!check_params(value, lexed->params, spec.params, report)) return std::nullopt;
  return *std::move(lexed);
}

// False if anything is wrong with a statement.
bool build_statements(const View& sql, core::SqlSpec& spec, std::set<std::string>& used,
                      Report& report) {
  const auto& settings = sql.settings();
  bool good = true;
  for (std::size_t i = 0; i < settings.size(sql.path("statements")); ++i) {
    const View view(settings, join_path(sql.path("statements"), i));
    const auto* text = view.find("sql");
    if (text == nullptr) {
      good = false;
      continue;
    }
    core::SqlStatementSpec made;
    made.sql = text->text;
    if (const auto* rows = view.find("expect_rows")) {
      made.expect_rows = rows->number;
      made.otherwise = otherwise_of(view.text("otherwise"), fmt::format("statement {}", i + 1));
      made.otherwise.tells_rows = true;
    } else if (const auto* word = view.find("otherwise");
               word != nullptr && word->from == Setting::From::kWritten) {
      report
          .error("E038", word->place, word->path,
                 fmt::format("{}: otherwise needs expect_rows beside it", word->path))
          .help = "add expect_rows: 1, or remove otherwise";
    }
    good = check_statement(*text, spec, used, report).has_value() && good;
    spec.statements.push_back(std::move(made));
  }
  return good;
}

// Settings outside of handler.sql that may use a param.
void use_elsewhere(const Settings& settings, const std::string& consumer,
                   std::set<std::string>& used) {
  const auto use = [&](const char* name) {
    const auto* text = settings.find(consumer + name);
    const auto read = text != nullptr ? semel::sql::tokenize(text->text) : semel::sql::Tokens();
    if (read) used.insert(read->params.begin(), read->params.end());
  };
  use(".query.exists");
  if (!settings.written(consumer + ".lock.params")) {
    use(".lock.select");
    use(".lock.done_when");
  }
  if (!settings.written(consumer + ".version.params")) use(".version.current");
}

}  // namespace

core::SqlSpec build_sql(const View& sql, Report& report) {
  core::SqlSpec spec;
  spec.params = build_params(sql, report);
  build_unique_rules(sql, spec, report);
  std::set<std::string> used;
  // A misspelt :name would also make a param look unused: report one error for one cause.
  if (!build_statements(sql, spec, used, report)) return spec;
  if (sql.spoiled("statements") || sql.spoiled("params")) return spec;
  constexpr std::string_view kBelow = ".handler.sql";
  use_elsewhere(sql.settings(), sql.path().substr(0, sql.path().size() - kBelow.size()), used);
  check_unused(sql, used, report);
  return spec;
}

std::map<std::string, core::SqlParam> build_params(const View& view, Report& report) {
  std::map<std::string, core::SqlParam> params;
  for (const auto& name : view.settings().names(view.path("params"))) {
    const auto path = join_path(view.path("params"), name.text);
    if (!is_param_name(name.text)) {
      report
          .error("E024", name.place, path,
                 fmt::format("{}: {} cannot be the name of a param", path, in_quotes(name.text)))
          .help = "use letters, digits and _, without the colon";
    }
    params.emplace(name.text, build_param(View(view.settings(), path)));
  }
  return params;
}

bool check_params(const Setting& value, const std::vector<std::string>& names,
                  const std::map<std::string, core::SqlParam>& params, Report& report) {
  std::vector<std::string_view> known;
  for (const auto& [name, param] : params) known.push_back(name);
  std::set<std::string> told;
  for (const auto& name : names) {
    if (params.contains(name) || !told.insert(name).second) continue;
    if (name.empty()) {
      report.error("E035", value.place, value.path, value.path + ": a bare ? has no param").help =
          "write :name, and add name to params";
      continue;
    }
    auto& made = report.error("E035", place_of_param(value, name, report), value.path,
                              fmt::format("{}: :{} is not in params", value.path, name));
    const auto meant = nearest(name, known);
    made.help = meant ? fmt::format("did you mean :{}?", *meant)
                      : fmt::format("params: {{ {}: json:/{} }}", name, name);
  }
  return told.empty();
}

void check_unused(const View& view, const std::set<std::string>& used, Report& report) {
  for (const auto& name : view.settings().names(view.path("params"))) {
    if (used.contains(name.text) || !is_param_name(name.text)) continue;
    const auto path = join_path(view.path("params"), name.text);
    report
        .error("E036", name.place, path, fmt::format("{}: no statement uses :{}", path, name.text))
        .help = "use it, or remove it: a message without it would be refused for nothing";
  }
}

void check_look(const Setting& look, const core::SqlSpec& spec, Report& report) {
  std::set<std::string> used;
  const auto lexed = check_statement(look, spec, used, report);
  if (!lexed || (lexed->verb == "SELECT" && lexed->writes.empty())) return;
  report
      .error("E034", look.place, look.path,
             fmt::format("{}: a look only reads, but this is {}", look.path, lexed->verb))
      .help = "write a SELECT";
}

SourceLocation place_in(const Setting& value, std::size_t offset, std::size_t length,
                        const Report& report) {
  if (value.place.line == 0 || offset >= value.text.size()) return value.place;
  const std::string_view text = value.text;
  const auto begin = offset == 0 ? 0 : text.rfind('\n', offset - 1) + 1;
  const auto line = text.substr(begin, text.find('\n', begin) - begin);
  // The text of a block starts below its field and has the same line breaks.
  const auto nth =
      std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(begin), '\n');
  const auto column_of = [&](int at) -> std::optional<SourceLocation> {
    const auto found = report.line(value.place.source, at).find(line);
    if (found == std::string_view::npos) return std::nullopt;
    const auto column = static_cast<int>(found + (offset - begin)) + 1;
    return SourceLocation{value.place.source, at, column,
                          std::min(length, line.size() - (offset - begin))};
  };
  if (const auto place = column_of(value.place.line + 1 + static_cast<int>(nth))) return *place;
  for (int at = value.place.line; at < value.place.line + kLinesSearched; ++at) {
    if (const auto place = column_of(at)) return *place;
  }
  return value.place;
}

SourceLocation place_of_param(const Setting& value, const std::string& name, const Report& report) {
  const auto written = ":" + name;
  for (auto at = value.text.find(written); at != std::string::npos;
       at = value.text.find(written, at + 1)) {
    const auto end = at + written.size();
    const bool longer =
        end < value.text.size() &&
        (std::isalnum(static_cast<unsigned char>(value.text[end])) != 0 || value.text[end] == '_');
    if (!longer) return place_in(value, at, written.size(), report);
  }
  return value.place;
}

}  // namespace semel::config
