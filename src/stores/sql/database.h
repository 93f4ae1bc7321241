// Database: where the ports that all SQL stores share run their statements. A server lends a
// session to each call; SQLite has one connection that writes and another that looks.
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

// How far a commit must reach before it returns. A server's own settings decide for it.
enum class Sync { kProcessCrash, kPowerLoss };

// Looks at records, as the shared ports need them; each database keeps them, and what is held, in
// tables of its own.
class RecordLooks {
 public:
  RecordLooks() = default;
  RecordLooks(const RecordLooks&) = delete;
  RecordLooks& operator=(const RecordLooks&) = delete;

  // As it stands now, with its result where it is completed.
  virtual std::optional<RecordView> show(const KeyId& record) = 0;
  // Records that are not completed, oldest first; of `consumer` and in `state` where they are
  // given.
  virtual std::vector<RecordView> list(std::optional<ConsumerNumber> consumer,
                                       std::optional<RecordState> state, std::size_t limit) = 0;
  // Counts those that are not completed. A consumer may have several of one state. `now`: of the
  // store's clock.
  virtual std::vector<RecordCount> counts(StoreTime now) = 0;
  struct Held {
    std::size_t rows = 0;
    std::optional<StoreTime> oldest;  // first met
    std::optional<StoreTime> newest;  // put there
  };
  // Counts the rows that wait for a consumer.
  virtual Held held(ConsumerNumber consumer) = 0;

 protected:
  ~RecordLooks() = default;
};

// The same inside a transaction that changes them.
class Records {
 public:
  Records() = default;
  Records(const Records&) = delete;
  Records& operator=(const Records&) = delete;

  struct Known {
    spi::Record record;
    bool held = false;  // its payload is kept, and comes back
  };
  // As it stands until the transaction ends, completed or not.
  virtual std::optional<Known> find(const KeyId& record) = 0;
  // The records among them that are completed now.
  virtual std::unordered_set<KeyId> completed(std::span<const KeyId> records) = 0;
  // Parked or dead → retrying, due now, and what is kept for it is held again. False in any other
  // state.
  virtual bool reopen(const KeyId& record, StoreTime now) = 0;
  // Parked, or consuming with its lease over → consuming, under that nonce. None in any other
  // state.
  virtual std::optional<Lease> seize(const KeyId& record, const Nonce& nonce,
                                     std::chrono::milliseconds lease, StoreTime now) = 0;
  // With all that is kept beside it; false where there is none. Throws R241 where it is in hand.
  virtual bool forget(const KeyId& record, StoreTime now) = 0;
  // It has steps from now on.
  virtual void note_steps(const KeyId& record) = 0;
  // It has another payload from now on. The record is there, and not completed.
  virtual void set_fingerprint(const KeyId& record, const Fingerprint& fingerprint,
                               StoreTime now) = 0;
  virtual void hold(const HeldContent& content, StoreTime now) = 0;
  // Ends the leases of an instance that is gone, and shows again what it had in hand; how many.
  virtual std::size_t free_from(std::int64_t instance, StoreTime now) = 0;
  // Keeps the records of these dead letters from all others until the transaction ends. It locks
  // nothing where a transaction has the whole store.
  virtual void lock_letters(std::span<const std::int64_t> letters) = 0;
  // The same for those who add letters; see DeadLetterRows::lock_adding.
  virtual void lock_adding() = 0;

 protected:
  ~Records() = default;
};

// One connection, while a call has it.
class Access {
 public:
  Access() = default;
  Access(const Access&) = delete;
  Access& operator=(const Access&) = delete;

  virtual Statements& statements() noexcept = 0;
  virtual SharedTables& tables() noexcept = 0;
  virtual RecordLooks& looks() noexcept = 0;
  // The store's clock; a transaction may read it once.
  virtual StoreTime now() = 0;
  // Instances registered whose process, or connection, is proven gone.
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

// Any thread. Throws Failure. A look or a change runs `work(access)` and returns its answer.
class Database {
 public:
  virtual ~Database() = default;

  // The number of this process; registered when first asked for.
  virtual std::int64_t instance() = 0;
  // A transaction has the whole store to itself: a long one locks nothing more than a short one.
  virtual bool locks_all() const noexcept { return false; }

  // One statement that changes nothing.
  template <class Work>
  auto glance(Work&& work) {
    return answer_of<Access>(work, [this](const Job& job) { run_glance(job); });
  }
  // Several of them. A file shows them one state of the store.
  template <class Work>
  auto look(Work&& work) {
    return answer_of<Access>(work, [this](const Job& job) { run_look(job); });
  }
  // One statement that changes something, committed by itself.
  template <class Work>
  auto change(Sync sync, Work&& work) {
    return answer_of<Access>(work, [&](const Job& job) { run_change(sync, job); });
  }
  // A whole transaction; `work` is given a TransactionAccess. A server may undo it for another
  // one's sake: then it is run again, a few times, and so `work` must not add to what it changes
  // outside of the database. A file runs it once.
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
