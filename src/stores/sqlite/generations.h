// Generations: all tables of completed records, and which of them take inserts.
//
// Kept in memory, and read again when the store's version number shows a change: every transaction
// compares that number, so any number of processes stays correct.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "stores/sqlite/filters.h"
#include "stores/sqlite/generation.h"
#include "stores/sqlite/meta.h"

namespace semel::sqlite {

class Generations {
 public:
  Generations(Connection& connection, Meta& meta, std::size_t rows_each);

  // Takes existing filters from `filters`, and requests the missing ones. Borrowed.
  void use_filters(Filters& filters);

  // Call it once in each transaction, before anything else here.
  void begin(const Meta::Row& meta);
  // Undoes changes of a transaction that did not commit.
  void rolled_back() noexcept;
  void committed() noexcept;
  // Makes the next begin read the list again.
  void distrust() noexcept;

  // The generation that takes the inserts of `ttl`'s family; a full or old one is sealed and
  // another begun.
  Generation& active(const Ttl& ttl, StoreTime now);
  // The generation that has the id.
  Generation* having(const KeyId& id) { return having_but(id, nullptr); }
  // The generation, other than `known`, that has the id; `found` is its row there.
  Generation* having_but(const KeyId& id, const Generation* known);
  const Finished& found() const noexcept { return found_; }

  // Keeps all generations made for `from` as long as `to` says, once they have `moved`.
  void lengthen(const Ttl& from, const Ttl& to, StoreTime now);
  // Seals active generations that began too long ago; returns their numbers.
  std::vector<std::int64_t> seal_old(StoreTime now);
  // Corrects the facts about a sealed table after reading it.
  void correct(std::int64_t number, StoreTime last_completed, std::int64_t rows);
  void drop(std::int64_t number);
  // Makes every process read the list, and the ttls of the consumers, again.
  void moved();
  // Adds uncounted inserts to the stored counts.
  void count_all();
  bool all_counted() const noexcept;

  const std::vector<std::unique_ptr<Generation>>& all() const noexcept { return list_; }

 private:
  void read();
  void pick_up_filters();
  bool too_old(const GenerationRow& row, StoreTime now) const noexcept;
  Generation& roll(Generation* old, const Ttl& ttl, StoreTime now);
  void seal(Generation& generation, StoreTime now);
  void count(Generation& generation);

  Connection& connection_;
  Meta& meta_;
  const std::int64_t rows_each_;
  Prepared list_all_;
  Prepared add_;
  Prepared seal_;
  Prepared count_;
  Prepared touch_;
  Prepared correct_;
  Prepared lengthen_;
  Prepared remove_;

  std::vector<std::unique_ptr<Generation>> list_;  // newest first
  std::optional<std::int64_t> version_;
  std::uint64_t transaction_ = 0;
  Filters* filters_ = nullptr;
  std::uint64_t filters_seen_ = 0;
  bool changed_ = false;  // of the list, in this transaction
  Generation* last_active_ = nullptr;
  Finished found_;
};

}  // namespace semel::sqlite
