// BatchFinish: the writes for a batch of Finish, in an open transaction. Completions and acks,
// which are frequent, are written together; all else one by one.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <unordered_map>
#include <vector>

#include <semel/spi/finish.h>

#include "stores/sql/claims.h"
#include "stores/sql/finish_writer.h"

namespace semel::sql {

// The writes for many records at a time, different on each server, in an open transaction.
class ManyRecords {
 public:
  virtual ~ManyRecords() = default;
  // Locks them, before the next statement; `records` are sorted.
  virtual void lock(std::span<const KeyId> records) = 0;
  // Applies those of `finishes`, completions with leases on different records, whose leases hold
  // their records and for which nothing is kept in other tables. Returns the ids of the completed
  // records.
  virtual std::vector<KeyId> complete(std::span<const Finish* const> finishes) = 0;
  // Whether complete_at_once() is there for these.
  virtual bool has_at_once(std::span<const Finish> finishes) const noexcept {
    (void)finishes;
    return false;
  }
  // The same outside of a transaction: committed with the answer, in one round trip. Throws
  // kInDoubt where the answer was lost. Empty, too, where the server undid it, and where two have
  // leases on one record: then nothing was done.
  virtual std::vector<KeyId> complete_at_once(std::span<const Finish> finishes) {
    (void)finishes;
    return {};
  }
  struct WithResult {
    KeyId id;
    BytesView result;
  };
  // For completed records that the transaction has locked.
  virtual void set_results(std::span<const WithResult> records) = 0;
  struct Kept {
    std::int64_t row = 0;  // of the inbox; used where that number does not exist
    const Message* message = nullptr;
    BytesView result;
  };
  // Adds messages that arrived just now and are done.
  virtual void keep(std::span<const Kept> messages) = 0;
};

// Whether it completes a leased record and changes nothing else.
bool completes_alone(const Finish& finish) noexcept;

// Whether all of `batch` completes keys that this unit has just claimed, whose records are
// completed since then: then only `kept` is left to write.
bool stands_since_claim(std::span<const Finish> batch, ClaimedKeys& claims,
                        std::vector<ManyRecords::Kept>& kept);

class BatchFinish {
 public:
  // `claims`: of the unit whose transaction it is; null: there is no unit.
  BatchFinish(Session& session, Tables& tables, ManyRecords& records, ClaimedKeys* claims)
      : session_(session),
        tables_(tables),
        records_(records),
        claims_(claims),
        finish_writer_(tables) {}

  std::vector<Applied> run(std::span<const Finish> batch);

 private:
  struct One {
    const Finish* finish = nullptr;
    Claimed* claimed = nullptr;
    enum class Way { kClaimed, kLeased, kAck, kByItself, kOver } way = Way::kByItself;
  };

  One::Way way_of(const One& one) const;
  // The records of a batch where one statement does not change all of them.
  void lock_leased();
  void complete_leased();
  // The completions of complete_leased(): of several of one record the first, and the others are
  // ended one by one.
  std::vector<const Finish*> take_leased();
  // Everything that is changed one by one, in the order of stores/sql/lock.h.
  void lock_others();
  std::optional<std::int64_t> lock_record(const One& one);
  void remove_rows();
  // The rows of deliveries that only met records which wait with those rows.
  std::set<RowTag> rows_that_wait();
  void end_claimed();
  void end_others();
  void send();
  Applied end_leased(const Finish& finish);
  Applied end_claimed_otherwise(Claimed& claimed, const Finish& finish);
  StoreTime now();
  StoreTime claimed_at(const Claimed& claimed);

  Session& session_;
  Tables& tables_;
  ManyRecords& records_;
  ClaimedKeys* claims_;
  FinishWriter finish_writer_;

  std::vector<One> all_;
  std::vector<Applied> applied_;
  std::unordered_map<std::int64_t, std::optional<std::int64_t>> gone_;  // held rows; their inbox
  // Locked records, as they were found; each until it is first ended.
  std::map<KeyId, std::optional<RecordRow>> found_;
  std::optional<StoreTime> now_;
  std::optional<StoreTime> claimed_at_;
};

}  // namespace semel::sql
