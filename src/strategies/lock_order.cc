#include "strategies/lock_order.h"

#include <algorithm>
#include <cmath>
#include <compare>
#include <string>
#include <variant>

#include "strategies/row_versions.h"

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
  if (const auto* decimal = std::get_if<Decimal>(&one)) {
    return decimal->text <=> std::get_if<Decimal>(&other)->text;
  }
  return std::weak_ordering::equivalent;
}

std::weak_ordering order_of(std::span<const Value> one, std::span<const Value> other) noexcept {
  return std::lexicographical_compare_three_way(
      one.begin(), one.end(), other.begin(), other.end(),
      [](const Value& a, const Value& b) { return order_of(a, b); });
}

std::weak_ordering order_of_rows(const RecordedStatement& one,
                                 const RecordedStatement& other) noexcept {
  if (one.statement != other.statement) {
    const auto texts = one.statement->sql <=> other.statement->sql;
    if (texts != 0) return texts;
  }
  return order_of(rows_of(one), rows_of(other));
}

std::weak_ordering order_of(const StatementList& one, const StatementList& other) noexcept {
  return std::lexicographical_compare_three_way(
      one.begin(), one.end(), other.begin(), other.end(),
      [](const RecordedStatement& a, const RecordedStatement& b) {
        const auto rows = order_of_rows(a, b);
        return rows != 0 ? rows : order_of(std::span(a.values), std::span(b.values));
      });
}

const RowVersion* version_of(const StatementList& list) noexcept {
  return !list.empty() && list.front().version ? &*list.front().version : nullptr;
}

}  // namespace

std::span<const Value> rows_of(const RecordedStatement& statement) noexcept {
  const std::size_t before = std::min(statement.statement->before_where, statement.values.size());
  return std::span(statement.values).subspan(before);
}

void LockOrder::sort(std::vector<std::size_t>& places,
                     std::span<const StatementList* const> lists) {
  std::size_t statements = 0;
  for (const std::size_t place : places) statements = std::max(statements, lists[place]->size());
  // With a single statement each, there is nothing to choose.
  if (statements > 1) learn(places, lists);
  const std::size_t first = most_shared(statements);
  std::ranges::stable_sort(places, [&](std::size_t a, std::size_t b) {
    const StatementList& one = *lists[a];
    const StatementList& other = *lists[b];
    if (first < one.size() && first < other.size()) {
      const auto rows = order_of_rows(one[first], other[first]);
      if (rows != 0) return rows < 0;
    } else if (first < one.size() || first < other.size()) {
      return first < other.size();
    }
    return order_of(one, other) < 0;
  });
  sort_by_version(places, [&](std::size_t place) { return version_of(*lists[place]); });
}

void LockOrder::learn(const std::vector<std::size_t>& places,
                      std::span<const StatementList* const> lists) {
  constexpr std::uint32_t kMany = 1U << 20;
  std::vector<const RecordedStatement*> same;
  for (std::size_t at = 0; at < kLooked; ++at) {
    same.clear();
    for (const std::size_t place : places) {
      if (at < lists[place]->size()) same.push_back(&(*lists[place])[at]);
    }
    if (same.empty()) return;
    std::ranges::sort(same, [](const auto* a, const auto* b) { return order_of_rows(*a, *b) < 0; });
    std::uint32_t again = 0;
    for (std::size_t i = 1; i < same.size(); ++i) {
      if (order_of_rows(*same[i - 1], *same[i]) == 0) ++again;
    }
    // Two concurrent threads may lose a few of each other's counts.
    const std::uint32_t sum = shared_[at].load(std::memory_order_relaxed) + again;
    shared_[at].store(sum, std::memory_order_relaxed);
    if (sum > kMany) {
      for (auto& one : shared_) one.store(one.load(std::memory_order_relaxed) / 2);
    }
  }
}

// Without evidence returns the last statement: a message's own row usually comes first.
std::size_t LockOrder::most_shared(std::size_t statements) const noexcept {
  std::size_t most = 0;
  for (std::size_t at = 1; at < std::min(statements, kLooked); ++at) {
    if (shared_[at].load(std::memory_order_relaxed) >=
        shared_[most].load(std::memory_order_relaxed)) {
      most = at;
    }
  }
  return most;
}

}  // namespace semel::strategies
