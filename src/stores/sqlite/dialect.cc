#include "stores/sqlite/dialect.h"

#include <algorithm>
#include <cctype>
#include <iterator>

namespace semel::sqlite {
namespace {

constexpr std::string_view kNames[][2] = {
    {"until_at", "until"},
    {"crashes", "count"},
    {"kept_at", "at"},
    {"message_key", "key"},
    {"row_id", "row"},
    {"source_partition", "partition"},
    {"source_position", "position"},
    // The table has no others: completed records are in generations.
    {"semel_record", "semel_live"},
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
    const auto* const name = std::ranges::find(kNames, word, [](const auto& n) { return n[0]; });
    out += name != std::end(kNames) ? (*name)[1] : word;
    at = end;
    if (at != shared.end()) out += *at++;
  }
  // A single writer has the whole file: there is no row to lock.
  constexpr std::string_view kLock = " FOR UPDATE";
  if (const auto at = out.find(kLock); at != std::string::npos) out.resize(at);
  return out;
}

const Texts& texts() {
  static const Texts all{Dialect()};
  return all;
}

}  // namespace semel::sqlite
