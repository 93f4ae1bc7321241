// Where: parses `--where`, as `consumer=orders and reason=handler.http.503 and age>1h`. Pure.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <semel/result.h>

namespace semel::operate {

struct WhereField {
  enum class Kind {
    kText,    // =  !=  ~ (contains, without regard to ASCII case)
    kNumber,  // =  !=  >  <  >=  <=
    kAge,     // >  <  >=  <=  a duration
  };
  std::string_view name;
  Kind kind = Kind::kText;
  std::string_view words = {};  // of a text: what it can be, as "parked|dead"; empty: anything
};

// A field with two texts matches either. If it has only one, `other` is empty.
struct EitherText {
  std::string_view one;
  std::string_view other;
};

// A text, or two, or a number; an age in milliseconds.
using WhereValue = std::variant<std::string_view, std::int64_t, EitherText>;

class Where {
 public:
  struct Flaw {
    std::size_t column = 0;  // from 1, in characters
    std::string message;
    std::string fix;
  };

  // Matches everything.
  Where() = default;
  // `fields` must outlive the result.
  static tl::expected<Where, Flaw> parse(std::string_view text, std::span<const WhereField> fields);

  // `value_of` returns the values of the tested thing; its texts must live as long as the call.
  bool matches(const std::function<WhereValue(std::string_view field)>& value_of) const;
  // The value that `field` must equal, if the filter requires one.
  std::optional<std::string> equal_to(std::string_view field) const;
  bool is_empty() const noexcept { return conditions_.empty(); }
  // Whether the filter uses the field.
  bool asks_about(std::string_view field) const noexcept;

 private:
  friend class WhereReader;
  enum class Operator { kEqual, kNotEqual, kContains, kMore, kLess, kAtLeast, kAtMost };
  struct Condition {
    const WhereField* field = nullptr;
    Operator op = Operator::kEqual;
    std::string text;
    std::int64_t number = 0;
  };
  static bool holds(const Condition& condition, const WhereValue& value);

  std::vector<Condition> conditions_;
};

}  // namespace semel::operate
