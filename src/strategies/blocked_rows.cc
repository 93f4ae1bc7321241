#include "strategies/blocked_rows.h"

#include <algorithm>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "base/digest.h"
#include "base/overloaded.h"
#include "strategies/lock_order.h"

namespace semel::strategies {

namespace {

using std::chrono::milliseconds;

constexpr milliseconds kShortestRest{500};
// The longest time until a waiting message learns that its row is free.
constexpr milliseconds kLongestRest{5'000};
// While one message checks a row, which takes as long as a store waits for a row, the others do
// not.
constexpr milliseconds kLook{1'500};
// A program that keeps a row locked while a person looks at it does so for seconds or minutes.
constexpr std::chrono::seconds kOfLate{30};
// Rows beyond this number are not remembered.
constexpr std::size_t kMostRows = 10'000;

std::string value_text(const Value& value) {
  return std::visit(Overloaded{
                        [](const Null&) { return std::string(); },
                        [](std::int64_t number) { return std::to_string(number); },
                        [](double number) { return std::to_string(number); },
                        [](const std::string& text) { return text; },
                        [](const Blob& blob) { return std::string(blob.bytes); },
                        [](const Decimal& decimal) { return decimal.text; },
                    },
                    value);
}

// Two statements that wait for the same row have the same name.
LockName name_of(const RecordedStatement& statement) {
  if (statement.version) return statement.version->row;
  if (statement.lock) return *statement.lock;
  std::vector<std::string> texts;
  for (const Value& value : rows_of(statement)) texts.push_back(value_text(value));
  std::vector<BytesView> parts = {statement.statement->sql};
  parts.insert(parts.end(), texts.begin(), texts.end());
  return {digest::shortened(digest::sha256_parts("semel.row", parts))};
}

}  // namespace

BlockedRows::Answer BlockedRows::ask(const StatementList& statements,
                                     const RecordedStatement* question, std::set<LockName>& looks,
                                     TimePoint now) {
  Answer answer;
  const system::MutexLock lock(mutex_);
  if (rows_.empty()) return answer;
  std::set<LockName> names;
  for (const RecordedStatement& statement : statements) names.insert(name_of(statement));
  if (question != nullptr) names.insert(name_of(*question));
  std::set<LockName> due;
  for (const LockName& name : names) {
    const auto at = rows_.find(name);
    if (at == rows_.end() || looks.contains(name)) continue;
    if (now < at->second.until) {
      const auto left = std::chrono::ceil<milliseconds>(at->second.until - now);
      answer = {Known::kBlocked, std::max(answer.wait, left)};
    } else {
      due.insert(name);
    }
  }
  if (answer.known == Known::kBlocked || due.empty()) return answer;
  for (const LockName& name : due) rows_[name].until = now + kLook;
  looks.merge(due);
  return {Known::kLooksAgain, {}};
}

milliseconds BlockedRows::add(const RecordedStatement& blocked, const StatementList& statements,
                              TimePoint now) {
  last_.store(now, std::memory_order_relaxed);
  const system::MutexLock lock(mutex_);
  std::set<LockName> names = {name_of(blocked)};
  if (!statements.empty() && statements.front().version) {
    names.insert(statements.front().version->row);
  }
  milliseconds longest = kShortestRest;
  for (const LockName& name : names) {
    Row* const row = find_or_add(name, now);
    if (row == nullptr) continue;
    row->rest = std::clamp(row->rest * 2, kShortestRest, kLongestRest);
    row->until = now + row->rest;
    longest = std::max(longest, row->rest);
  }
  return longest;
}

BlockedRows::Row* BlockedRows::find_or_add(const LockName& name, TimePoint now) {
  const auto at = rows_.find(name);
  if (at != rows_.end()) return &at->second;
  if (rows_.size() >= kMostRows) forget_expired(now);
  return rows_.size() >= kMostRows ? nullptr : &rows_[name];
}

void BlockedRows::forget(const std::set<LockName>& rows) {
  if (rows.empty()) return;
  const system::MutexLock lock(mutex_);
  for (const LockName& name : rows) rows_.erase(name);
}

bool BlockedRows::any_of_late(TimePoint now) const noexcept {
  const TimePoint last = last_.load(std::memory_order_relaxed);
  return last != TimePoint::min() && now - last < kOfLate;
}

void BlockedRows::forget_expired(TimePoint now) {
  std::erase_if(rows_, [&](const auto& row) { return row.second.until + kOfLate < now; });
}

}  // namespace semel::strategies
