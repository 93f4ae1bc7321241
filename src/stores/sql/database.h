// Database: runs the statements of the ports that all SQL stores share. A server lends a session to
// each call; SQLite has one connection that writes and another that reads.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <type_traits>
#include <unordered_set>
#include <utility>
#include <vector>

#include <semel/admin/records.h>
#include <semel/spi/record_machine.h>

#include "stores/sql/consumer_stats.h"
#include "stores/sql/shared_tables.h"

namespace semel::sql {

// How far a commit must reach before it returns. Servers ignore it: their own settings decide.
enum class Sync { kProcessCrash, kPowerLoss };

// Reads records for the shared ports; each database keeps records and held rows in tables of its
// own.
class RecordLooks {
 public:
  RecordLooks() = default;
  RecordLooks(const RecordLooks&) = delete;
  RecordLooks& operator=(const RecordLooks&) = delete;

  // The record as it is now, with its result if it is completed.
  virtual std::optional<RecordView> show(const KeyId& record) = 0;
  // Records that are not completed, oldest first; only of `consumer` and in `state` where given.
  virtual std::vector<RecordView> list(std::optional<ConsumerNumber> consumer,
                                       std::optional<RecordState> state, std::size_t limit) = 0;
  // Counts those that are not completed. A consumer may have several of one state. `now`: of the
  // store's clock.
  virtual std::vector<RecordCount> counts(StoreTime now) = 0;
  struct Held {
    std::size_t rows = 0;
    std::optional<StoreTime> oldest;  // when the one with the lowest number was first met
    std::optional<StoreTime> newest;  // when the one with the highest number was added
  };
  // Counts the rows that wait for a consumer.
  virtual Held held(ConsumerNumber consumer) = 0;

 protected:
  ~RecordLooks() = default;
};

// The same inside a transaction that changes records.
class Records {
 public:
  Records() = default;
  Records(const Records&) = delete;
  Records& operator=(const Records&) = delete;

  struct Known {
    spi::Record record;
    bool held = false;  // its payload is kept, and comes back
  };
  // Locks and returns the record, completed or not.
  virtual std::optional<Known> find(const KeyId& record) = 0;
  // Returns those of `records` that are completed now.
  virtual std::unordered_set<KeyId> completed(std::span<const KeyId> records) = 0;
  // Parked or dead → retrying, due now, and its kept payload is held again. False in any other
  // state.
  virtual bool reopen(const KeyId& record, StoreTime now) = 0;
  // Parked, or consuming with its lease over → consuming, under that nonce. nullopt in any other
  // state.
  virtual std::optional<Lease> seize(const KeyId& record, const Nonce& nonce,
                                     std::chrono::milliseconds lease, StoreTime now) = 0;
  // Removes the record and everything kept for it; false where there is none. Throws R241 where a
  // live lease holds it.
  virtual bool forget(const KeyId& record, StoreTime now) = 0;
  // Marks the record as one with steps.
  virtual void note_steps(const KeyId& record) = 0;
  // Sets the fingerprint of a new payload. The record exists, and is not completed.
  virtual void set_fingerprint(const KeyId& record, const Fingerprint& fingerprint,
                               StoreTime now) = 0;
  virtual void hold(const HeldContent& content, StoreTime now) = 0;
  // Ends the leases of an instance that is gone, and shows its taken rows again; returns how many.
  virtual std::size_t free_from(std::int64_t instance, StoreTime now) = 0;
  // Locks the records of these dead letters until the transaction ends. Locks nothing where a
  // transaction has the whole store.
  virtual void lock_letters(std::span<const std::int64_t> letters) = 0;
  // The same for code that adds letters; see DeadLetterRows::lock_adding.
  virtual void lock_adding() = 0;

 protected:
  ~Records() = default;
};

// One connection, for the duration of a call.
class Access {
 public:
  Access() = default;
  Access(const Access&) = delete;
  Access& operator=(const Access&) = delete;

  virtual Statements& statements() noexcept = 0;
  virtual SharedTables& tables() noexcept = 0;
  virtual RecordLooks& looks() noexcept = 0;
  // The store's clock; a transaction may read it once and reuse the time.
  virtual StoreTime now() = 0;
  // The registered instances whose process, or connection, is proven gone.
  virtual std::vector<std::int64_t> gone() = 0;

 protected:
  ~Access() = default;
};

// The same inside a transaction.
class TransactionAccess : public Access {
 public:
  virtual Records& records() noexcept = 0;
  // Whether one registered instance is among those of gone().
  virtual bool is_gone(std::int64_t instance) = 0;

 protected:
  ~TransactionAccess() = default;
};

// Thread-safe. Throws Failure. Each method runs `work(access)` and returns its result.
class Database {
 public:
  virtual ~Database() = default;

  // The number of this process; registered by the first call.
  virtual std::int64_t instance() = 0;
  // Whether a transaction has the whole store: then a long one locks no more than a short one.
  virtual bool locks_all() const noexcept { return false; }

  // One statement that changes nothing.
  template <class Work>
  auto glance(Work&& work) {
    return answer_of<Access>(work, [this](const Job& job) { run_glance(job); });
  }
  // Several such statements. A file shows them one state of the store.
  template <class Work>
  auto look(Work&& work) {
    return answer_of<Access>(work, [this](const Job& job) { run_look(job); });
  }
  // One statement that changes something, committed by itself.
  template <class Work>
  auto change(Sync sync, Work&& work) {
    return answer_of<Access>(work, [&](const Job& job) { run_change(sync, job); });
  }
  // A whole transaction; `work` gets a TransactionAccess. A server may undo it because of another
  // one: then it runs again, a few times, so `work` must not accumulate changes outside of the
  // database. A file runs it once.
  template <class Work>
  auto transact(Sync sync, Work&& work) {
    return answer_of<TransactionAccess>(
        work, [&](const TransactionJob& job) { run_transaction(sync, job); });
  }

 protected:
  using Job = std::function<void(Access&)>;
  using TransactionJob = std::function<void(TransactionAccess&)>;
  virtual void run_glance(const Job& job) = 0;
  virtual void run_look(const Job& job) = 0;
  virtual void run_change(Sync sync, const Job& job) = 0;
  virtual void run_transaction(Sync sync, const TransactionJob& job) = 0;

 private:
  template <class Given, class Work, class Run>
  static auto answer_of(Work& work, Run&& run) -> std::invoke_result_t<Work&, Given&> {
    using Answer = std::invoke_result_t<Work&, Given&>;
    if constexpr (std::is_void_v<Answer>) {
      run([&work](Given& access) { work(access); });
    } else {
      std::optional<Answer> answer;
      run([&](Given& access) { answer.emplace(work(access)); });
      return *std::move(answer);
    }
  }
};

}  // namespace semel::sql
