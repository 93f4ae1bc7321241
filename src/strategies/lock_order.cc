#include "strategies/lock_order.h"

#include <algorithm>
#include <cmath>
#include <compare>
#include <variant>

namespace semel::strategies {
namespace {

std::weak_ordering order_of(const Value& one, const Value& other) noexcept {
  if (one.index() != other.index()) return one.index() <=> other.index();
  if (const auto* integer = std::get_if<std::int64_t>(&one)) {
    return *integer <=> *std::get_if<std::int64_t>(&other);
  }
  if (const auto* real = std::get_if<double>(&one)) {
    return std::weak_order(*real, *std::get_if<double>(&other));
  }
  if (const auto* text = std::get_if<std::string>(&one)) {
    return *text <=> *std::get_if<std::string>(&other);
  }
  if (const auto* blob = std::get_if<Blob>(&one)) {
    return blob->bytes <=> std::get_if<Blob>(&other)->bytes;
  }
  return std::weak_ordering::equivalent;
}

std::weak_ordering order_of(const RecordedStatement& one, const RecordedStatement& other) noexcept {
  if (one.statement != other.statement) {
    const auto texts = one.statement->sql <=> other.statement->sql;
    if (texts != 0) return texts;
  }
  const std::size_t count = std::min(one.values.size(), other.values.size());
  const std::size_t first = std::min(one.statement->before_where, count);
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t at = (first + i) % count;
    const auto values = order_of(one.values[at], other.values[at]);
    if (values != 0) return values;
  }
  return one.values.size() <=> other.values.size();
}

}  // namespace

bool locks_before(const StatementList& one, const StatementList& other) noexcept {
  const std::size_t count = std::min(one.size(), other.size());
  for (std::size_t i = 0; i < count; ++i) {
    const auto statements = order_of(one[i], other[i]);
    if (statements != 0) return statements < 0;
  }
  return one.size() < other.size();
}

}  // namespace semel::strategies
