#include "stores/sqlite/generations.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

namespace semel::sqlite {
namespace {

// Dropping whole tables keeps a record longer than its ttl, by at most this fraction of it.
constexpr int kTablesPerTtl = 8;
// Counts are written once for this fraction of a table's rows: writing them in every commit would
// dirty a page each time.
constexpr std::int64_t kCountsPerTable = 64;

}  // namespace

Generations::Generations(Connection& connection, Meta& meta, std::size_t rows_each)
    : connection_(connection),
      meta_(meta),
      rows_each_(static_cast<std::int64_t>(std::max<std::size_t>(rows_each, 1))),
      list_all_(connection,
                "SELECT number, ttl, state = 'active', created_at, sealed_at, rows "
                "FROM semel_generation ORDER BY number DESC"),
      add_(connection,
           "INSERT INTO semel_generation (ttl, state, created_at, rows) "
           "VALUES (?1, 'active', ?2, 0)"),
      seal_(connection,
            "UPDATE semel_generation SET state = 'sealed', sealed_at = ?2 WHERE number = ?1"),
      count_(connection,
             "UPDATE semel_generation SET rows = rows + ?2 WHERE number = ?1 RETURNING rows"),
      touch_(connection, "UPDATE semel_generation SET created_at = ?2 WHERE number = ?1"),
      correct_(connection,
               "UPDATE semel_generation SET sealed_at = ?2, rows = ?3 WHERE number = ?1"),
      lengthen_(connection, "UPDATE semel_generation SET ttl = ?2 WHERE number = ?1"),
      remove_(connection, "DELETE FROM semel_generation WHERE number = ?1") {}

void Generations::begin(const Meta::Row& meta) {
  ++transaction_;
  changed_ = false;
  last_active_ = nullptr;
  if (version_ != meta.generations) {
    read();
    version_ = meta.generations;
  } else if (filters_ != nullptr && filters_seen_ != filters_->version()) {
    pick_up_filters();
  }
}

void Generations::use_filters(Filters& filters) {
  filters_ = &filters;
  distrust();
}

void Generations::committed() noexcept {
  // Tables sealed in this transaction are sealed for all only now.
  if (changed_) pick_up_filters();
  changed_ = false;
  for (const auto& generation : list_) generation->uncounted_before = generation->uncounted;
}

void Generations::pick_up_filters() {
  if (filters_ == nullptr) return;
  filters_seen_ = filters_->version();
  std::set<std::int64_t> numbers;
  for (const auto& generation : list_) numbers.insert(generation->row().number);
  filters_->keep_only(numbers);
  for (const auto& generation : list_) {
    if (generation->row().active || generation->filter != nullptr) continue;
    generation->filter = filters_->find(generation->row().number);
    if (generation->filter == nullptr) filters_->want(generation->row().number);
  }
}

void Generations::read() {
  std::vector<std::unique_ptr<Generation>> fresh;
  const Reading reading(list_all_);
  while (list_all_.next()) {
    GenerationRow row;
    row.number = list_all_.integer(0);
    if (!list_all_.null(1)) row.ttl = std::chrono::milliseconds(list_all_.integer(1));
    row.active = list_all_.integer(2) != 0;
    row.created_at = list_all_.time(3);
    row.sealed_at = list_all_.time(4);
    row.rows = list_all_.integer(5);
    const auto known = std::ranges::find_if(list_, [&](const auto& generation) {
      return generation && generation->row().number == row.number;
    });
    // It stays the same object: claims of a unit that is open around this one point to it.
    if (known != list_.end()) {
      // Its memory of ids was read while it took inserts.
      if ((*known)->row().active != row.active) {
        (*known)->forget();
        (*known)->filter = nullptr;
      }
      (*known)->row() = row;
      fresh.push_back(std::move(*known));
      continue;
    }
    fresh.push_back(std::make_unique<Generation>(connection_, row));
  }
  list_ = std::move(fresh);
  last_active_ = nullptr;
  pick_up_filters();
}

void Generations::moved() {
  meta_.generations_moved();
  changed_ = true;
  read();
  version_ = meta_.read().generations;
}

void Generations::rolled_back() noexcept {
  last_active_ = nullptr;
  for (const auto& generation : list_) {
    generation->uncounted = generation->uncounted_before;
  }
  // Another process may reach the same number with another list.
  if (changed_) distrust();
  changed_ = false;
}

// A table sealed in a transaction that was rolled back may have taken inserts since, and may be
// sealed by another process before the list is read again: nothing shows that it was open.
void Generations::distrust() noexcept {
  version_.reset();
  for (const auto& generation : list_) generation->forget();
}

bool Generations::too_old(const GenerationRow& row, StoreTime now) const noexcept {
  return row.ttl && now - row.created_at >= *row.ttl / kTablesPerTtl;
}

Generation& Generations::active(const Ttl& ttl, StoreTime now) {
  if (last_active_ != nullptr && last_active_->row().ttl == ttl) return *last_active_;
  const auto at = std::ranges::find_if(list_, [&](const auto& generation) {
    return generation->row().active && generation->row().ttl == ttl;
  });
  Generation* generation = at == list_.end() ? nullptr : at->get();
  if (generation == nullptr) {
    generation = &roll(nullptr, ttl, now);
  } else {
    const std::int64_t part = std::max<std::int64_t>(rows_each_ / kCountsPerTable, 1);
    if (generation->uncounted >= part) count(*generation);
    const bool full = generation->row().rows >= rows_each_;
    if (full || (too_old(generation->row(), now) && !generation->empty())) {
      generation = &roll(generation, ttl, now);
    }
  }
  last_active_ = generation;
  return *generation;
}

Generation& Generations::roll(Generation* old, const Ttl& ttl, StoreTime now) {
  if (old != nullptr) seal(*old, now);
  add_.bind(1, ttl).bind(2, now).run();
  const std::int64_t number = connection_.last_row();
  connection_.execute(fmt::format("CREATE TABLE {} (id BLOB PRIMARY KEY, fingerprint BLOB NOT "
                                  "NULL, completed_at INTEGER NOT NULL, result INTEGER, "
                                  "inbox INTEGER) WITHOUT ROWID",
                                  table_of(number))
                          .c_str());
  moved();
  return **std::ranges::find_if(
      list_, [&](const auto& generation) { return generation->row().number == number; });
}

void Generations::seal(Generation& generation, StoreTime now) {
  count(generation);
  seal_.bind(1, generation.row().number).bind(2, now).run();
}

void Generations::count(Generation& generation) {
  if (generation.uncounted == 0) return;
  count_.bind(1, generation.row().number).bind(2, generation.uncounted);
  const Reading reading(count_);
  if (count_.next()) generation.row().rows = count_.integer(0);
  generation.uncounted = 0;
}

void Generations::count_all() {
  for (const auto& generation : list_) count(*generation);
}

bool Generations::all_counted() const noexcept {
  return std::ranges::all_of(list_,
                             [](const auto& generation) { return generation->uncounted == 0; });
}

Generation* Generations::having_but(const KeyId& id, const Generation* known) {
  for (const auto& generation : list_) {
    if (generation.get() == known || !generation->may_hold(id, transaction_)) continue;
    if (auto row = generation->find(id)) {
      found_ = *row;
      return generation.get();
    }
  }
  return nullptr;
}

void Generations::lengthen(const Ttl& from, const Ttl& to, StoreTime now) {
  for (const auto& generation : list_) {
    if (generation->row().ttl != from) continue;
    if (generation->row().active) {
      if (generation->empty()) continue;
      seal(*generation, now);
    }
    lengthen_.bind(1, generation->row().number).bind(2, to).run();
  }
}

std::vector<std::int64_t> Generations::seal_old(StoreTime now) {
  std::vector<std::int64_t> sealed;
  for (const auto& generation : list_) {
    const GenerationRow& row = generation->row();
    if (!row.active || !too_old(row, now)) continue;
    if (generation->empty()) {
      touch_.bind(1, row.number).bind(2, now).run();
      generation->row().created_at = now;
      continue;
    }
    seal(*generation, now);
    sealed.push_back(row.number);
  }
  if (!sealed.empty()) moved();
  return sealed;
}

void Generations::correct(std::int64_t number, StoreTime last_completed, std::int64_t rows) {
  correct_.bind(1, number).bind(2, last_completed).bind(3, rows).run();
  moved();
}

void Generations::drop(std::int64_t number) {
  // Its own statements would keep the table locked.
  std::erase_if(list_, [&](const auto& generation) { return generation->row().number == number; });
  remove_.bind(1, number).run();
  connection_.execute(fmt::format("DROP TABLE {}", table_of(number)).c_str());
  moved();
}

}  // namespace semel::sqlite
