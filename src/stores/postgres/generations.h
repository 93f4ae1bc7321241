// Generations: the partitions of semel_record, each for records of one ttl.
//
// A key is in one of them only, without any lock of its own: new records are inserted only into the
// active one, whose primary key decides; and a sealed one gets none any more. A claim reads
// semel_meta.generations after its insert, and gives up if it has changed; a session that seals
// first excludes, and waits for, all that insert (LOCK … IN SHARE MODE). So no session inserts into
// one generation while another looks for the same key in a newer one.
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

  // Everything completed in it is past its ttl.
  bool past(StoreTime now) const noexcept {
    return !active && ttl && sealed_at && *sealed_at + *ttl <= now;
  }
};

// The statements on one partition, and on the other ones.
struct PartitionTexts {
  PartitionTexts(const Dialect& dialect, std::int64_t number, const std::string& clock);

  // Each of the inserts fails, and undoes its transaction, where the version is not the given one.
  sql::SqlText insert_completed;  // ids, fingerprints, version: the ids that were new
  sql::SqlText insert_received;   // the same: and their new inbox rows
  sql::SqlText insert_one;        // of one: id, fingerprint, version, whether it has an inbox row
  sql::SqlText
      insert_consuming;   // ids, fingerprints, nonces, keys, lease, holder, version: ids, tokens
  sql::SqlText others;    // ids: those in other generations
  sql::SqlText erase;     // ids
  sql::SqlText lock_out;  // all that insert; waits for them

 private:
  // The number, as an expression that fails where the generations' version is not `version`.
  static std::string guarded(std::int64_t number, const char* version);
};

// As read from the table at one time.
struct KnownGenerations {
  std::int64_t version = 0;
  bool committed = true;  // else by a transaction that may still be undone
  std::vector<Generation> all;
};

// Thread-safe.
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
  // Makes one where there is none for `ttl`. Call it outside of a transaction.
  Active active(Connection& connection, const Ttl& ttl);
  // For new records of this consumer. Throws for one that was never attached.
  Active active(Connection& connection, ConsumerNumber consumer);
  // The cached knowledge may be old.
  void forget() SEMEL_EXCLUDES(mutex_);
  // Whether `failed` shows that it was old: the guard refused, or the generation is gone.
  static bool moved(const sql::Failure& failed) noexcept;
  KnownGenerations look(Connection& connection);

  // Seals `old`, and begins another for its ttl. Throws kBlocked where its writers do not end
  // within `patience`. False where another process did it.
  bool seal(Connection& connection, const Generation& old, std::chrono::milliseconds patience);
  // In a transaction: only one at a time changes the generations and their consumers.
  void lock(Connection& connection) { connection.ask(lock_meta_, {}); }
  // In a transaction: makes one where there is none for `ttl`, with that lock.
  void make_missing(Connection& connection, const Ttl& ttl);
  // Call it with that lock, for a consumer whose ttl changes in this transaction: otherwise two
  // processes would claim its keys in two generations. Waits for all that insert. Where `to` is
  // longer, records kept for `from` are kept as long.
  void change_ttl(Connection& connection, const Ttl& from, const Ttl& to);
  // Throws kBlocked where the generation is in use for longer than `patience`.
  static void need_free(Connection& connection, std::int64_t number,
                        std::chrono::milliseconds patience);
  // Drops a generation past its ttl that contains completed records only: those do not change any
  // more. False where it contains others, is no longer past its ttl, or the version is not the
  // given one: then it may have to be kept longer by now. Throws kBlocked where it is in use for
  // longer than `patience`.
  bool remove(Connection& connection, std::int64_t number, std::int64_t version, StoreTime now,
              std::chrono::milliseconds patience);

  // The current version, where the transaction reads an older state of the database; it stays until
  // the transaction ends. No row at READ COMMITTED, where each statement sees the current state.
  const sql::SqlText& version_now() const noexcept { return version_now_; }
  // Whether the generation known as active for a consumer still is. Parameters: version, whether it
  // is alone, its number, and the consumer. A transaction's view of its own changes may have been
  // undone since, and the version reused for another change.
  const sql::SqlText& still_active() const noexcept { return still_active_; }
  // Fails, and undoes its transaction, where the version is not the given one.
  const sql::SqlText& guard() const noexcept { return guard_; }

 private:
  std::optional<Active> known_active(const Ttl& ttl) SEMEL_EXCLUDES(mutex_);
  std::optional<Active> known_active(ConsumerNumber consumer) SEMEL_EXCLUDES(mutex_);
  std::optional<Active> active_in(const KnownGenerations& known, const Ttl& ttl)
      SEMEL_REQUIRES_SHARED(mutex_);
  const PartitionTexts& texts_of(std::int64_t number) SEMEL_REQUIRES(mutex_);
  std::int64_t make(Connection& connection, const Ttl& ttl);
  // Excludes sessions that insert into it; waits for those that do.
  void lock_out(Connection& connection, const Generation& old) SEMEL_EXCLUDES(mutex_);
  void load(Connection& connection) SEMEL_EXCLUDES(mutex_);

  const Dialect& dialect_;
  const std::string clock_;
  const sql::ConsumerTexts& consumers_;
  const sql::SqlText version_;
  const sql::SqlText version_now_;
  const sql::SqlText still_active_;
  const sql::SqlText guard_;
  const sql::SqlText lock_meta_;
  const sql::SqlText list_;
  const sql::SqlText add_;
  const sql::SqlText moved_;
  const sql::SqlText seal_;
  const sql::SqlText lengthen_;
  const sql::SqlText remove_;

  system::SharedMutex mutex_;
  std::optional<KnownGenerations> known_ SEMEL_GUARDED_BY(mutex_);
  // By consumer: not older than the cached version.
  std::unordered_map<std::uint32_t, Ttl> ttls_ SEMEL_GUARDED_BY(mutex_);
  std::map<std::int64_t, std::unique_ptr<PartitionTexts>> texts_ SEMEL_GUARDED_BY(mutex_);
};

std::string partition_name(std::int64_t number);

}  // namespace semel::postgres
