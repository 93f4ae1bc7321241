#include "operate/where.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/ascii.h"
#include "operate/words.h"

namespace semel::operate {

using Kind = WhereField::Kind;

// Reads one filter from left to right.
class WhereReader {
 public:
  WhereReader(std::string_view text, std::span<const WhereField> fields)
      : text_(text), fields_(fields) {}

  tl::expected<Where, Where::Flaw> read() {
    Where made;
    for (;;) {
      Where::Condition condition;
      if (!read_field(condition) || !read_operator(condition) || !read_value(condition)) {
        return tl::unexpected(std::move(flaw_));
      }
      made.conditions_.push_back(std::move(condition));
      skip_blanks();
      if (at_ == text_.size()) return made;
      const std::size_t begin = at_;
      if (word() == "and") continue;
      wrong(begin,
            fmt::format("\"{}\" stands where \"and\" or the end must",
                        printable(text_.substr(begin), kShown)),
            "conditions are joined by and; a value with blanks stands in quotes");
      return tl::unexpected(std::move(flaw_));
    }
  }

 private:
  static constexpr std::size_t kShown = 40;

  static bool is_word(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  }

  void skip_blanks() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t')) ++at_;
  }

  std::string_view word() {
    const std::size_t begin = at_;
    while (at_ < text_.size() && is_word(text_[at_])) ++at_;
    return text_.substr(begin, at_ - begin);
  }

  bool wrong(std::size_t at, std::string message, std::string fix) {
    const auto before = text_.substr(0, at);
    const auto characters = std::ranges::count_if(
        before, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; });
    flaw_ = {static_cast<std::size_t>(characters) + 1, std::move(message), std::move(fix)};
    return false;
  }

  std::string known_fields() const {
    std::vector<std::string_view> names;
    for (const WhereField& field : fields_) names.push_back(field.name);
    return fmt::format("the fields are {}", fmt::join(names, ", "));
  }

  bool read_field(Where::Condition& condition) {
    skip_blanks();
    const std::size_t begin = at_;
    const std::string_view name = word();
    if (name.empty()) return wrong(begin, "a field is missing", known_fields());
    const auto found = std::ranges::find(fields_, name, &WhereField::name);
    if (found != fields_.end()) {
      condition.field = &*found;
      return true;
    }
    std::vector<std::string> names;
    for (const WhereField& field : fields_) names.emplace_back(field.name);
    const auto near = nearest(name, names);
    const std::string meant = near ? fmt::format("did you mean \"{}\"? ", *near) : std::string();
    return wrong(begin, fmt::format("unknown field \"{}\"", printable(name, kShown)),
                 meant + known_fields());
  }

  // The longer ones first: `>` begins `>=`.
  bool read_operator(Where::Condition& condition) {
    using Operator = Where::Operator;
    static constexpr std::pair<std::string_view, Operator> kOperators[] = {
        {"!=", Operator::kNotEqual}, {">=", Operator::kAtLeast}, {"<=", Operator::kAtMost},
        {"=", Operator::kEqual},     {"~", Operator::kContains}, {">", Operator::kMore},
        {"<", Operator::kLess}};
    skip_blanks();
    const std::size_t begin = at_;
    const auto found = std::ranges::find_if(
        kOperators, [&](const auto& known) { return text_.substr(at_).starts_with(known.first); });
    const Kind kind = condition.field->kind;
    const std::string_view takes = kind == Kind::kText     ? "= != ~"
                                   : kind == Kind::kNumber ? "= != > < >= <="
                                                           : "> < >= <=";
    const std::string fix = fmt::format("{} takes {}", condition.field->name, takes);
    if (found == std::end(kOperators)) return wrong(begin, "an operator is missing", fix);
    condition.op = found->second;
    at_ += found->first.size();
    const bool equals = condition.op == Operator::kEqual || condition.op == Operator::kNotEqual;
    const bool fits = kind == Kind::kText     ? equals || condition.op == Operator::kContains
                      : kind == Kind::kNumber ? condition.op != Operator::kContains
                                              : !equals && condition.op != Operator::kContains;
    if (fits) return true;
    return wrong(begin,
                 fmt::format("{} cannot be compared by {}", condition.field->name, found->first),
                 fix);
  }

  // Text in quotes, in which a doubled quote means one quote; otherwise text up to the next blank.
  bool read_text(std::string& value) {
    skip_blanks();
    const std::size_t begin = at_;
    if (at_ == text_.size()) {
      return wrong(begin, "a value is missing", "an empty one is written ''");
    }
    const char quote = text_[at_];
    if (quote != '\'' && quote != '"') {
      while (at_ < text_.size() && text_[at_] != ' ' && text_[at_] != '\t') value += text_[at_++];
      return true;
    }
    for (++at_; at_ < text_.size(); ++at_) {
      if (text_[at_] == quote && (at_ + 1 == text_.size() || text_[at_ + 1] != quote)) {
        ++at_;
        return true;
      }
      if (text_[at_] == quote) ++at_;
      value += text_[at_];
    }
    return wrong(begin, "the quotes do not end", "a quote in quotes is doubled: 'it''s'");
  }

  bool read_value(Where::Condition& condition) {
    skip_blanks();
    const std::size_t begin = at_;
    if (!read_text(condition.text)) return false;
    const WhereField& field = *condition.field;
    const std::string shown = printable(condition.text, kShown);
    if (field.kind == Kind::kAge) {
      const auto age = parse_duration(condition.text);
      if (!age) {
        return wrong(begin, fmt::format("\"{}\" is not a duration", shown),
                     "write 500ms, 20s, 5m, 6h or 7d");
      }
      condition.number = age->count();
    } else if (field.kind == Kind::kNumber) {
      const char* const end = condition.text.data() + condition.text.size();
      const auto read = std::from_chars(condition.text.data(), end, condition.number);
      if (read.ec != std::errc{} || read.ptr != end) {
        return wrong(begin, fmt::format("\"{}\" is not a whole number", shown),
                     fmt::format("{}=3", field.name));
      }
    } else if (!field.words.empty() && !is_one_of(condition.text, field.words)) {
      return wrong(begin, fmt::format("{} cannot be \"{}\"", field.name, shown),
                   fmt::format("one of {}", field.words));
    }
    return true;
  }

  static bool is_one_of(std::string_view text, std::string_view words) {
    while (!words.empty()) {
      const auto end = std::min(words.find('|'), words.size());
      if (words.substr(0, end) == text) return true;
      words.remove_prefix(std::min(end + 1, words.size()));
    }
    return false;
  }

  std::string_view text_;
  std::span<const WhereField> fields_;
  std::size_t at_ = 0;
  Where::Flaw flaw_;
};

namespace {

bool contains(std::string_view whole, std::string_view part) {
  const auto alike = [](char a, char b) { return ascii::lower(a) == ascii::lower(b); };
  return std::search(whole.begin(), whole.end(), part.begin(), part.end(), alike) != whole.end() ||
         part.empty();
}

}  // namespace

tl::expected<Where, Where::Flaw> Where::parse(std::string_view text,
                                              std::span<const WhereField> fields) {
  return WhereReader(text, fields).read();
}

bool Where::holds(const Condition& condition, const WhereValue& value) {
  if (const auto* text = std::get_if<std::string_view>(&value)) {
    if (condition.op == Operator::kContains) return contains(*text, condition.text);
    return (*text == condition.text) == (condition.op == Operator::kEqual);
  }
  if (const auto* texts = std::get_if<EitherText>(&value)) {
    const bool first = holds(condition, texts->one);
    if (texts->other.empty()) return first;
    const bool second = holds(condition, texts->other);
    return condition.op == Operator::kNotEqual ? first && second : first || second;
  }
  const std::int64_t number = std::get<std::int64_t>(value);
  switch (condition.op) {
    case Operator::kEqual:
      return number == condition.number;
    case Operator::kNotEqual:
      return number != condition.number;
    case Operator::kMore:
      return number > condition.number;
    case Operator::kLess:
      return number < condition.number;
    case Operator::kAtLeast:
      return number >= condition.number;
    case Operator::kAtMost:
      return number <= condition.number;
    case Operator::kContains:
      break;
  }
  return false;
}

bool Where::matches(const std::function<WhereValue(std::string_view field)>& value_of) const {
  return std::ranges::all_of(conditions_, [&](const Condition& condition) {
    return holds(condition, value_of(condition.field->name));
  });
}

bool Where::asks_about(std::string_view field) const noexcept {
  return std::ranges::any_of(conditions_,
                             [&](const Condition& one) { return one.field->name == field; });
}

std::optional<std::string> Where::equal_to(std::string_view field) const {
  for (const Condition& condition : conditions_) {
    if (condition.field->name == field && condition.op == Operator::kEqual) return condition.text;
  }
  return std::nullopt;
}

}  // namespace semel::operate
