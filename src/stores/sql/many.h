// One statement about several values, whose number is fixed in its text.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "stores/sql/statements.h"

namespace semel::sql {

// Values in one statement. Fewer are filled up by repeating the last: so one text serves, and is
// prepared once.
inline constexpr std::size_t kMany = 32;
// The next parameters.
inline constexpr std::string_view kAfterMany = "?33";
inline constexpr std::string_view kSecondAfterMany = "?34";

// "(?1, ?2 …)", for kMany values.
inline std::string list() {
  std::string list = "(";
  for (std::size_t i = 0; i < kMany; ++i) {
    if (i > 0) list += ", ";
    list += '?' + std::to_string(i + 1);
  }
  return list + ')';
}

// Calls `each` with parts of `values` that fit one statement.
template <class T, class Each>
void in_parts(std::span<const T> values, Each&& each) {
  for (; !values.empty(); values = values.subspan(std::min(kMany, values.size()))) {
    each(values.first(std::min(kMany, values.size())));
  }
}

// `text` contains list(), with `more` after it. One to kMany values.
template <class T, class... More>
Answer ask_many(Statements& statements, const SqlText& text, std::span<const T> values,
                const More&... more) {
  return [&]<std::size_t... I>(std::index_sequence<I...>) {
    return statements.ask(text, {Param(values[std::min(I, values.size() - 1)])..., Param(more)...});
  }
  (std::make_index_sequence<kMany>());
}

template <class T, class... More>
void queue_many(Statements& statements, const SqlText& text, std::span<const T> values,
                const More&... more) {
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    statements.queue(text, {Param(values[std::min(I, values.size() - 1)])..., Param(more)...});
  }
  (std::make_index_sequence<kMany>());
}

}  // namespace semel::sql
