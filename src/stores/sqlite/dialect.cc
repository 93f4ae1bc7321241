#include "stores/sqlite/dialect.h"

#include <algorithm>
#include <cctype>
#include <iterator>

namespace semel::sqlite {
namespace {

constexpr std::string_view kColumns[][2] = {
    {"until_at", "until"},
    {"source_partition", "partition"},
    {"source_position", "position"},
};

bool in_a_word(char c) noexcept {
  return c == '_' || std::isalnum(static_cast<unsigned char>(c)) != 0;
}

}  // namespace

std::string Dialect::translated(std::string_view shared) const {
  std::string out;
  for (auto at = shared.begin(); at != shared.end();) {
    const auto end = std::find_if_not(at, shared.end(), in_a_word);
    const std::string_view word(at, end);
    const auto* const column =
        std::ranges::find(kColumns, word, [](const auto& c) { return c[0]; });
    out += column != std::end(kColumns) ? (*column)[1] : word;
    at = end;
    if (at != shared.end()) out += *at++;
  }
  return out;
}

const sql::SharedTexts& shared_texts() {
  static const sql::SharedTexts texts{Dialect()};
  return texts;
}

}  // namespace semel::sqlite
