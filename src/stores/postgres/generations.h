// Generations: the partitions of semel_record, each for records of one ttl.
//
// A key stands in one of them only, and that without any lock of its own: new records go into the
// active one alone, whose primary key decides; and what is sealed gets none any more. A claim reads
// semel_meta.generations behind its insert, and gives up where it moved; whoever seals first locks
// out, and waits for, all that insert (LOCK … IN SHARE MODE). So nobody inserts into one while
// another looks for the same key in a newer one.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "stores/postgres/connection.h"
#include "stores/sql/consumers.h"
#include "system/shared_mutex.h"

namespace semel::postgres {

using sql::Ttl;

struct Generation {
  std::int64_t number = 0;
  Ttl ttl;
  bool active = false;
  StoreTime created_at{};
  std::optional<StoreTime> sealed_at;

  // All that was completed in it is past its ttl.
  bool past(StoreTime now) const noexcept {
    return !active && ttl && sealed_at && *sealed_at + *ttl <= now;
  }
};

// The statements on one partition, and on those beside it.
struct PartitionTexts {
  PartitionTexts(const Dialect& dialect, std::int64_t number, const std::string& clock);

  // Each fails, and undoes its transaction, where the version is not the one given.
  sql::Text insert_completed;  // ids, fingerprints, version: the ids that were new
  sql::Text insert_received;   // the same: and their new inbox rows
  sql::Text insert_one;        // of one: id, fingerprint, version, whether it has an inbox row
  sql::Text
      insert_consuming;  // ids, fingerprints, nonces, keys, lease, holder, version: ids, tokens
  sql::Text others;      // ids: those in other generations
  sql::Text erase;       // ids
  sql::Text lock_out;    // all that insert; waits for them

 private:
  // The number, as an expression that fails where `version` is not that of the generations.
  static std::string guarded(std::int64_t number, const char* version);
};

// As one look at the table found them.
struct KnownGenerations {
  std::int64_t version = 0;
  bool committed = true;  // else by a transaction that may still be undone
  std::vector<Generation> all;
};

// Any thread.
class Generations {
 public:
  Generations(const Dialect& dialect, const std::string& clock,
              const sql::ConsumerTexts& consumers);

  struct Active {
    std::int64_t version;
    std::int64_t number;
    bool alone;  // there is no other generation
    bool committed;
    const PartitionTexts* texts;
  };
  // Makes one where there is none for `ttl`. Outside of a transaction.
  Active active(Connection& connection, const Ttl& ttl);
  // For new records of this consumer. Throws for one that nobody attached.
  Active active(Connection& connection, ConsumerNumber consumer);
  // What is known may be old.
  void forget() SEMEL_EXCLUDES(mutex_);
  // It was: the guard refused, or the generation has gone meanwhile.
  static bool moved(const sql::Failure& failed) noexcept;
  KnownGenerations look(Connection& connection);

  // Seals `old`, and begins another for its ttl. Throws kBlocked where its writers do not end
  // within `patience`. False where somebody else did so.
  bool seal(Connection& connection, const Generation& old, std::chrono::milliseconds patience);
  // In a transaction: one at a time changes what generations there are, and whose.
  void lock(Connection& connection) { connection.ask(lock_meta_, {}); }
  // With the lock, for a consumer whose ttl changes in this transaction: else one process would
  // claim its keys in one generation, and one in another. Waits for all that insert. Where `to` is
  // longer, what was kept for `from` is kept as long.
  void change_ttl(Connection& connection, const Ttl& from, const Ttl& to);
  // Throws kBlocked where this one is in use for longer than `patience`.
  static void need_free(Connection& connection, std::int64_t number,
                        std::chrono::milliseconds patience);
  // Drops one that is past its ttl, of which nothing may be left but what is completed: that
  // changes no more. False where something is, where it is not past it any more, or where the
  // version is not the one given: what was to be kept may be more by now. Throws kBlocked where it
  // is in use for longer than `patience`.
  bool remove(Connection& connection, std::int64_t number, std::int64_t version, StoreTime now,
              std::chrono::milliseconds patience);

  // The version as it is now, where the transaction looks at an older state of the database; and it
  // stays so until the transaction ends. No row at READ COMMITTED, where each statement sees it.
  const sql::Text& version_now() const noexcept { return version_now_; }
  // Whether the one that is active for a consumer, as it was known, still is. Parameters: version,
  // whether it is alone, its number, and the consumer. What a transaction saw of itself may have
  // been undone since, and the version be given again to something else.
  const sql::Text& still_active() const noexcept { return still_active_; }
  // Fails, and undoes its transaction, where the version is not the one given.
  const sql::Text& guard() const noexcept { return guard_; }

 private:
  std::optional<Active> known_active(const Ttl& ttl) SEMEL_EXCLUDES(mutex_);
  std::optional<Active> known_active(ConsumerNumber consumer) SEMEL_EXCLUDES(mutex_);
  std::optional<Active> active_in(const KnownGenerations& known, const Ttl& ttl)
      SEMEL_REQUIRES_SHARED(mutex_);
  const PartitionTexts& texts_of(std::int64_t number) SEMEL_REQUIRES(mutex_);
  std::int64_t make(Connection& connection, const Ttl& ttl);
  // Whoever inserts into it; those that do are waited for.
  void lock_out(Connection& connection, const Generation& old) SEMEL_EXCLUDES(mutex_);
  void load(Connection& connection) SEMEL_EXCLUDES(mutex_);

  const Dialect& dialect_;
  const std::string clock_;
  const sql::ConsumerTexts& consumers_;
  const sql::Text version_;
  const sql::Text version_now_;
  const sql::Text still_active_;
  const sql::Text guard_;
  const sql::Text lock_meta_;
  const sql::Text list_;
  const sql::Text add_;
  const sql::Text moved_;
  const sql::Text seal_;
  const sql::Text lengthen_;
  const sql::Text remove_;

  system::SharedMutex mutex_;
  std::optional<KnownGenerations> known_ SEMEL_GUARDED_BY(mutex_);
  // Of consumers: not older than the version of what is known.
  std::unordered_map<std::uint32_t, Ttl> ttls_ SEMEL_GUARDED_BY(mutex_);
  std::map<std::int64_t, std::unique_ptr<PartitionTexts>> texts_ SEMEL_GUARDED_BY(mutex_);
};

std::string partition_name(std::int64_t number);

}  // namespace semel::postgres
