// Pipe: a connection in libpq's pipeline mode. Statements are sent without waiting; one run reads
// all their results.
//
// Each segment ends in a Sync: an error skips the rest of its segment. Outside of BEGIN a segment
// is a transaction of its own.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "stores/postgres/named_statements.h"
#include "stores/postgres/pq.h"
#include "stores/postgres/wire.h"
#include "stores/sql/failure.h"
#include "system/deadline.h"
#include "system/short_wait.h"

namespace semel::postgres {

struct ResultDeleter {
  void operator()(PGresult* result) const noexcept;
};
using ResultPtr = std::unique_ptr<PGresult, ResultDeleter>;

// The five characters; empty where nothing failed or the server gave none.
std::string_view state_of(const PGresult* result) noexcept;
bool went_well(const PGresult* result) noexcept;
// For a result that failed.
sql::Failure failure_of(const PGresult* result);
// Runs one statement on a connection that is not in pipeline mode; throws its failure.
ResultPtr execute(PGconn* connection, const std::string& sql);
// Sends `sql` on such a connection and returns its last result, or the first that failed; null
// where none came in time. Throws where the connection is lost and the server has not said why.
ResultPtr exchange(PGconn* connection, const std::string& sql, system::Deadline& deadline);

// The consequence of a lost connection for the statements just sent.
enum class Loss {
  kNothingDone,  // an open transaction: it is gone
  kInDoubt,      // it may have been committed
};

class Pipe {
 public:
  inline static const system::Deadline kWithoutEnd{
      system::Deadline::kNever, system::Deadline::kNoStops, std::chrono::milliseconds(0)};

  // Once this many are prepared, all are deallocated when no transaction is open: the server keeps
  // each for as long as the session.
  static constexpr std::size_t kMostPrepared = 1'024;

  enum class Whose {
    kOwn,          // closed at the end
    kLent,         // borrowed between two runs: in pipeline mode for a run only; no name stays
    kLentPrepares  // the same, but statements may stay prepared on it
  };

  Pipe(PGconn* connection, Whose whose);
  ~Pipe();
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;

  // Sends `sql`, prepared at its first use and identified by its address. Rows come in binary, or,
  // with `text_rows`, as text.
  void send(const std::string& sql, const WireParams& params, bool text_rows = false);
  // Sends a statement without preparing it, because it is sent once or defines something.
  void send_once(const std::string& sql, const WireParams& params = {}, bool text_rows = false);
  // Ends a segment. `loss`: of a connection that is lost meanwhile.
  void sync(Loss loss = Loss::kNothingDone);
  // A borrowed transaction continues, and our part of it begins anew.
  void begin_unit();
  // Whether the server's list of prepared statements must be read first.
  bool must_look() const noexcept { return lasting_ && lasting_->must_look(); }
  // Reads it, in the transaction that is open. Throws Failure.
  void look(const system::Deadline& deadline);

  struct Segment {
    std::vector<ResultPtr> results;  // of each statement sent, in order
  };
  // Ends the segment and reads all results, segment by segment. Throws where the connection is
  // lost, or the deadline over, which loses it: `loss` determines the error. With kInDoubt, a
  // server's or pooler's FATAL error counts as such a loss, and so does an error of class 08: for
  // the last statement always, for an earlier one unless the transaction is then still open. A
  // borrowed connection that is lost is out of pipeline mode, unless libpq sees it open. Throws
  // kRetryTransaction, once all is read, where a statement failed perhaps because of changes since
  // it was prepared: then all are prepared anew, and a second failure is the statement's own.
  std::vector<Segment> run(Loss loss, const system::Deadline& deadline = kWithoutEnd);

  // The transaction that is sent next is read-only: until it ends, a refused write says nothing
  // about the server.
  void begin_look() noexcept { looks_ = true; }
  // The server refused a write because it only reads.
  bool refuses_writes() const noexcept { return refuses_writes_; }

  bool owned() const noexcept { return owned_; }
  // Open, without an unexpected message, and without an open transaction (not checked on a borrowed
  // connection). Does not wait.
  bool whole() const noexcept;
  PGconn* connection() const noexcept { return connection_; }

 private:
  enum class Kind { kForget, kPrepare, kRun, kSync };
  // How many statements are handed to the server together: the first ones, and later ones. While it
  // runs the first, far more of them are made.
  static constexpr std::size_t kFirstPart = 8;
  static constexpr std::size_t kLaterPart = 32;
  struct Sent {
    Kind kind;
    const std::string* sql = nullptr;
    bool prepared_before = false;               // prepared before this transaction
    NamedStatements::Named* lasting = nullptr;  // on a borrowed connection
    bool ends_run = false;                      // the last statement of it: perhaps a COMMIT
  };

  struct Prepared {
    std::string name;
    std::string sql;  // another text may be at its address by now
    std::size_t transaction = 0;
  };
  const Prepared& prepared(const std::string& sql, const WireParams& params);
  void send_unnamed(const std::string& sql, const WireParams& params, bool text_rows);
  void send_lasting(NamedStatements::Named& one, const std::string& sql, const WireParams& params,
                    bool text_rows);
  void start();
  void forget_prepared();
  void stop() noexcept;
  void leave_lost() noexcept;
  void check_sent(int sent);
  // Hands the server the first of many statements while the others are still being made.
  void start_server();
  void flush(Loss loss);
  ResultPtr next_result(Loss loss);
  void wait_for_answer(Loss loss);
  void read_one(const Sent& sent, Loss loss, std::vector<Segment>& segments);
  void judge_error(const Sent& sent, const PGresult* result, Loss loss);
  void judge_segment(Loss loss);
  bool note_lasting(const Sent& sent, const PGresult* result);
  void note_outdated(const Sent& sent, const PGresult* result);
  [[noreturn]] void lost(Loss loss);
  [[noreturn]] void lost(Loss loss, const std::string& why);

  PGconn* connection_;
  const bool owned_;
  bool blocks_ = true;  // the owner's setting
  bool broken_ = false;
  bool looks_ = false;
  bool refuses_writes_ = false;
  std::vector<Sent> sent_;
  std::size_t kept_back_ = 0;  // statements since libpq's buffer was last flushed
  std::size_t most_kept_back_ = kFirstPart;
  ResultPtr failed_preparation_;
  // A possible commit waits for a disk, so its time says nothing about other statements.
  system::ShortWait soon_;
  system::ShortWait commits_soon_;
  std::unordered_map<const std::string*, Prepared> names_;
  std::size_t named_ = 0;
  std::size_t forgotten_ = 0;  // of those still on the server
  std::size_t transactions_ = 0;
  std::optional<sql::Failure> outdated_;  // in this run
  std::string server_lost_;               // an error of this segment that says so
  // The unnamed statement that the server has at this point of the segment; empty: none.
  std::string unnamed_;
  std::vector<unsigned> unnamed_types_;
  std::optional<NamedStatements> lasting_;  // on a borrowed connection
  bool forgets_ = false;                    // deallocate all, as soon as no transaction is open
  system::Deadline deadline_ = kWithoutEnd;
};

}  // namespace semel::postgres
