#include "stores/sqlite/generation.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace semel::sqlite {
namespace {

KeyId bound(const KeyId& id, unsigned char fill) {
  KeyId at;
  at.bytes.fill(fill);
  std::copy_n(id.bytes.begin(), 4, at.bytes.begin());
  return at;
}

// Only the record of `semel_live` is there, and nothing is kept in other tables.
constexpr std::string_view kAlone =
    "state = 'consuming' AND held IS NULL AND inbox IS NULL AND steps = 0";

// "(?2, ?3), (?4, ?5), ...": ids and nonces.
std::string pairs(std::size_t count) {
  std::string all;
  for (std::size_t i = 0; i < count; ++i) {
    all += fmt::format("{}(?{}, ?{})", i == 0 ? "" : ", ", 2 * i + 2, 2 * i + 3);
  }
  return all;
}

}  // namespace

std::string table_of(std::int64_t generation) {
  return fmt::format("semel_completed_{}", generation);
}

Generation::Generation(Connection& connection, GenerationRow row)
    : row_(row),
      insert_sql_(fmt::format("INSERT INTO {} (id, fingerprint, completed_at, inbox) "
                              "VALUES (?1, ?2, ?3, ?4) ON CONFLICT (id) DO NOTHING",
                              table_of(row_.number))),
      insert_live_sql_(
          fmt::format("INSERT INTO {} (id, fingerprint, completed_at) "
                      "SELECT id, fingerprint, ?3 FROM semel_live WHERE id = ?1 AND nonce = ?2 "
                      "AND {} ON CONFLICT (id) DO NOTHING",
                      table_of(row_.number), kAlone)),
      // CROSS JOIN: a search in semel_live for each pair.
      insert_together_sql_(
          fmt::format("INSERT INTO {} (id, fingerprint, completed_at) "
                      "SELECT id, fingerprint, ?1 FROM (VALUES {}) AS its CROSS JOIN semel_live "
                      "WHERE id = its.column1 AND nonce = its.column2 AND {} "
                      "ON CONFLICT (id) DO NOTHING",
                      table_of(row_.number), pairs(kTogether), kAlone)),
      find_sql_(fmt::format("SELECT fingerprint, completed_at, result, inbox FROM {} WHERE id = ?1",
                            table_of(row_.number))),
      erase_sql_(fmt::format("DELETE FROM {} WHERE id = ?1", table_of(row_.number))),
      detail_sql_(fmt::format("UPDATE {} SET result = ?2, inbox = ?3 WHERE id = ?1",
                              table_of(row_.number))),
      empty_sql_(fmt::format("SELECT 1 FROM {} LIMIT 1", table_of(row_.number))),
      least_sql_(fmt::format("SELECT id FROM {} WHERE id BETWEEN ?1 AND ?2 ORDER BY id LIMIT 1",
                             table_of(row_.number))),
      greatest_sql_(
          fmt::format("SELECT id FROM {} WHERE id BETWEEN ?1 AND ?2 ORDER BY id DESC LIMIT 1",
                      table_of(row_.number))),
      insert_(connection, insert_sql_.c_str()),
      insert_live_(connection, insert_live_sql_.c_str()),
      insert_together_(connection, insert_together_sql_.c_str()),
      find_(connection, find_sql_.c_str()),
      erase_(connection, erase_sql_.c_str()),
      detail_(connection, detail_sql_.c_str()),
      empty_(connection, empty_sql_.c_str()),
      least_(connection, least_sql_.c_str()),
      greatest_(connection, greatest_sql_.c_str()) {}

bool Generation::insert(const KeyId& id, const Fingerprint& fingerprint, StoreTime now,
                        std::optional<std::int64_t> inbox) {
  insert_.bind(1, id).bind(2, fingerprint).bind(3, now).bind(4, inbox);
  if (insert_.change() == 0) return false;
  ++uncounted;
  ranges_.clear();
  return true;
}

bool Generation::insert_live(const KeyId& id, const Nonce& nonce, StoreTime now) {
  insert_live_.bind(1, id).bind(2, nonce).bind(3, now);
  if (insert_live_.change() == 0) return false;
  ++uncounted;
  ranges_.clear();
  return true;
}

std::size_t Generation::insert_live(std::span<const Lease* const, kTogether> leases,
                                    StoreTime now) {
  insert_together_.bind(1, now);
  int at = 2;
  for (const Lease* const lease : leases) {
    insert_together_.bind(at, lease->key).bind(at + 1, lease->nonce);
    at += 2;
  }
  const std::int64_t inserted = insert_together_.change();
  uncounted += inserted;
  if (inserted > 0) ranges_.clear();
  return static_cast<std::size_t>(inserted);
}

std::optional<Finished> Generation::find(const KeyId& id) {
  find_.bind(1, id);
  const Reading reading(find_);
  if (!find_.next()) return std::nullopt;
  return Finished{find_.fingerprint(0), find_.time(1), find_.maybe_integer(2),
                  find_.maybe_integer(3)};
}

bool Generation::erase(const KeyId& id) {
  if (erase_.bind(1, id).change() == 0) return false;
  --uncounted;
  return true;
}

void Generation::set_detail(const KeyId& id, std::optional<std::int64_t> result,
                            std::optional<std::int64_t> inbox) {
  detail_.bind(1, id).bind(2, result).bind(3, inbox).run();
}

bool Generation::empty() {
  const Reading reading(empty_);
  return !empty_.next();
}

Generation::Range Generation::read_range(const KeyId& id, std::uint64_t transaction) {
  Range range{};
  std::copy_n(id.bytes.begin(), range.prefix.size(), range.prefix.begin());
  range.transaction = transaction;
  const KeyId low = bound(id, 0x00);
  const KeyId high = bound(id, 0xff);
  for (Prepared* const end : {&least_, &greatest_}) {
    end->bind(1, low).bind(2, high);
    const Reading reading(*end);
    range.any = end->next();
    if (!range.any) break;
    (end == &least_ ? range.least : range.greatest) = end->key_id(0);
  }
  return range;
}

bool Generation::may_hold(const KeyId& id, std::uint64_t transaction) {
  auto known = std::ranges::find_if(ranges_, [&](const Range& range) {
    return std::equal(range.prefix.begin(), range.prefix.end(), id.bytes.begin());
  });
  if (known == ranges_.end()) {
    known = ranges_.insert(known, read_range(id, transaction));
  } else if (row_.active && known->transaction != transaction) {
    *known = read_range(id, transaction);
  }
  if (!known->any || id < known->least || known->greatest < id) return false;
  return filter == nullptr || filter->may_hold(id);
}

}  // namespace semel::sqlite
