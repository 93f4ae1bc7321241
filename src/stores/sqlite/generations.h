// Generations: all tables of completed records, and which of them take inserts.
//
// Kept in memory, and read again as soon as the store says that the list moved: every transaction
// looks at that number, so any number of processes is right.
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

  // Takes them from `filters`, and asks there for those that are missing. Borrowed.
  void use_filters(Filters& filters);

  // Once in each transaction, before anything else here.
  void begin(const Meta::Row& meta);
  // What was made in a transaction that did not commit is no more.
  void rolled_back() noexcept;
  void committed() noexcept;
  // Reads the list anew at the next begin.
  void distrust() noexcept;

  // The one that takes the inserts of `ttl`'s family; a full or old one is sealed and another
  // begun.
  Generation& active(const Ttl& ttl, StoreTime now);
  // The one that has the id.
  Generation* having(const KeyId& id) { return having_but(id, nullptr); }
  // The one, other than `known`, that has the id; `found` is its row there.
  Generation* having_but(const KeyId& id, const Generation* known);
  const Finished& found() const noexcept { return found_; }

  // All that were made for `from` are kept as long as `to` says, once they have `moved`.
  void lengthen(const Ttl& from, const Ttl& to, StoreTime now);
  // Seals actives that began too long ago; their numbers.
  std::vector<std::int64_t> seal_old(StoreTime now);
  // What a look at the sealed table told about it.
  void correct(std::int64_t number, StoreTime last_completed, std::int64_t rows);
  void drop(std::int64_t number);
  // Every process reads the list, and the ttls of the consumers, anew.
  void moved();
  // Adds what is not counted yet to the stored counts.
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
  bool changed_ = false;  // the list, in this transaction
  Generation* last_active_ = nullptr;
  Finished found_;
};

}  // namespace semel::sqlite
