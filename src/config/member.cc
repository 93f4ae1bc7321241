#include "config/member.h"

#include <algorithm>

#include <fmt/format.h>

namespace semel::config {

std::size_t index_of_word(const Setting& setting) {
  const auto words = split_words(setting.field->words);
  return static_cast<std::size_t>(std::ranges::find(words, setting.text) - words.begin());
}

std::string word_at(const Field& field, std::size_t index) {
  const auto words = split_words(field.words);
  return index < words.size() ? std::string(words[index]) : std::string();
}

std::string quantity_text(const Field& field, std::int64_t value) {
  const auto unit = parse_duration(fmt::format("1{}", field.unit));
  switch (field.shape) {
    case Shape::kDuration:
    case Shape::kDurationRange:
      return unit ? fmt::format("{}{}", value / *unit, field.unit) : show_duration(value);
    case Shape::kSize:
      return show_size(value);
    default:
      return std::to_string(value);
  }
}

std::string real_text(double value) { return fmt::format("{}", value); }

}  // namespace semel::config
