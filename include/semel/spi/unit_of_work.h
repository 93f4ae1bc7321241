// TransactionalStore and UnitOfWork: a batch's database transaction, as a strategy sees it.
//
// Order of use: claim or confirm, once and first; then run/query/flush/undo; then finish, once;
// then commit. Anything else is kRejected. The destructor rolls back what was not committed; it
// never throws. One thread at a time; one connection each. A unit does not outlive its store.
//
// Every adapter passes the suites of semel/conformance/store_case.h.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <semel/spi/claim.h>
#include <semel/spi/finish.h>
#include <semel/spi/recorded_statement.h>
#include <semel/spi/store.h>

namespace semel {

// How often a unit marks its place, so that a failed message is undone without its neighbours.
enum class Savepoints { kSparse, kEach };

struct UnitOptions {
  Savepoints savepoints = Savepoints::kSparse;
  // How long begin and claim wait for another holder of the write lock before kBlocked.
  std::chrono::milliseconds patience{5'000};
  bool inbox = false;        // finish will keep every message in the inbox table
  bool want_result = false;  // as ClaimOptions::want_result
  // Units of one group exclude each other: while one that is `alone` runs, no other of its group
  // does, in any process. A store without shared locks keeps only those that are `alone` apart; a
  // store without locks keeps none apart. Where another unit does not end, claim and confirm return
  // kBlocked to one that is to be `alone`; the others run next to it.
  std::optional<LockName> group = {};
  bool alone = false;
  // How long a statement waits for a lock of another transaction, before kBlocked; nullopt: as long
  // as claim. A store that counts in seconds waits for at least one.
  std::optional<std::chrono::milliseconds> row_patience = {};
  // The unit names a message that waited too long for a lock of another transaction: as
  // FlushReport::Failed with kBlocked, and all_undone; for a query, by an error of kBlocked with
  // the code kQueryBlocked. Otherwise the error names no message.
  bool names_blocked = false;
  // The unit has one message, whose transaction has failed before. A store that checks constraints
  // at the commit checks them in flush, where it reports what they refuse as that message's own.
  bool check_deferred = false;
  // Only query is called: no claim, no write, no commit. It neither waits for other transactions
  // nor holds them up.
  bool only_looks = false;
};

// The error code of a query that was blocked itself.
inline constexpr std::string_view kQueryBlocked = "handler.sql.busy";

struct FlushReport {
  // A statement that failed. Its message's statements are undone; where `all_undone` says so, the
  // whole transaction is gone and must be begun again, without that message or with other marks.
  struct Failed {
    std::size_t message;    // the caller's number: its index in the batch
    std::string sql_class;  // constraint, refused, syntax, busy, other: last part of the reason
    Error error;  // its message has the statement's text, cut if it is long, and no values
    std::optional<RecordedStatement> blocked = {};  // the statement that was blocked, if one was
  };
  // A declared miss: expect_rows, a rule, or a named unique violation. Its message's statements are
  // undone.
  struct Missed {
    std::size_t message;
    Otherwise otherwise;
  };

  std::vector<Failed> failed;
  std::vector<Missed> missed;
  bool all_undone = false;
  bool committed = false;  // flush_and_commit has committed
};

class UnitOfWork {
 public:
  virtual ~UnitOfWork() = default;
  UnitOfWork() = default;
  UnitOfWork(const UnitOfWork&) = delete;
  UnitOfWork& operator=(const UnitOfWork&) = delete;

  // Claims each message's key inside this transaction; the claim is the record. Keys must differ.
  // Acquired::lease names only the key: the transaction is the fence.
  virtual Result<std::vector<Claim>> claim(std::span<const Message* const> messages) = 0;

  // For claims that were committed before (two phases): compare-and-set on each nonce, in this
  // transaction. A claim answered kYes cannot be taken over before the commit.
  virtual Result<std::vector<Applied>> confirm(std::span<const Lease> leases) = 0;

  // Adds a message's statements; they run at the next flush, in the order of the calls.
  virtual void run(std::size_t message, const StatementList& statements) = 0;

  // Flushes, then runs `statement` and returns its rows. Its own error is returned as Failed would
  // be (kRejected, kBlocked where that is named); an error in the flush of earlier messages is
  // kRetryTransaction, and `flush` called next reports it.
  virtual Result<Rows> query(std::size_t message, const RecordedStatement& statement) = 0;

  // Runs what was added. Misses are reported together. After an Error the transaction is gone.
  virtual Result<FlushReport> flush() = 0;

  // Undoes what `message`, the newest one, has run by `query`.
  virtual Result<void> undo(std::size_t message) = 0;

  // As Store::finish, inside this transaction. Leases claimed here always apply.
  virtual Result<std::vector<Applied>> finish(std::span<const Finish> batch) = 0;

  // kInDoubt: the answer was lost; claim the batch again to find out. After any error the unit is
  // over.
  virtual Result<void> commit() = 0;

  // flush, and, where no message failed or missed, finish and commit: a store on a server does it
  // in one round trip where no answer decides anything. Without `committed` the result is as after
  // flush(), and finish is still to be called; a store that could find that out only by trying has
  // undone the whole transaction, and the report may name no message. Errors as of all three;
  // kRetryTransaction where a lease was lost.
  virtual Result<FlushReport> flush_and_commit(std::span<const Finish> batch);
};

class TransactionalStore {
 public:
  virtual ~TransactionalStore() = default;
  virtual Result<std::unique_ptr<UnitOfWork>> begin(const UnitOptions& options) = 0;
};

}  // namespace semel
