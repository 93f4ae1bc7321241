// Wire: a connection to a server. Statements are sent without waiting, in one packet; one run reads
// all their answers. Statements after the first refused one do not run.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "stores/mysql/error_table.h"
#include "stores/mysql/literal.h"
#include "stores/mysql/url.h"
#include "stores/sql/answer.h"
#include "stores/sql/failure.h"
#include "system/deadline.h"

struct st_mysql;      // MYSQL
struct st_mysql_res;  // MYSQL_RES

namespace semel::mysql {

// The SQL mode of our sessions, which our procedures store.
inline constexpr const char* kSqlMode =
    "STRICT_ALL_TABLES,NO_BACKSLASH_ESCAPES,ERROR_FOR_DIVISION_BY_ZERO,NO_ZERO_DATE,"
    "NO_ZERO_IN_DATE,NO_ENGINE_SUBSTITUTION";

struct ResultDeleter {
  void operator()(st_mysql_res* result) const noexcept;
};
using ResultPtr = std::unique_ptr<st_mysql_res, ResultDeleter>;

// The answer to one statement.
struct Said {
  ResultPtr rows;           // null: none returned
  std::size_t changed = 0;  // rows that matched; for an upsert an existing row counts 0
  std::int64_t number = 0;  // the AUTO_INCREMENT value it assigned
};
struct Answers {
  std::vector<Said> said;
  std::optional<Refusal> refused;  // of the statement after those in `said`
};

// The consequence of a lost connection for the statements just sent.
enum class Loss {
  kNothingDone,  // an open transaction: it is gone
  kInDoubt,      // it may have been committed
};

class Wire {
 public:
  inline static const system::Deadline kWithoutEnd{
      system::Deadline::kNever, system::Deadline::kNoStops, std::chrono::milliseconds(0)};

  // Throws Failure: R254 where a proxy accepts the connection but has no session for it. `stops`:
  // as in Endpoint.
  explicit Wire(const Target& target,
                const system::Deadline::Stops& stops = system::Deadline::kNoStops);
  // Over a borrowed connection, whose settings stay as they are: each statement is sent by itself.
  // Asks the server for the session's state.
  explicit Wire(st_mysql* borrowed);
  ~Wire();
  Wire(const Wire&) = delete;
  Wire& operator=(const Wire&) = delete;

  // Sends one statement, without a semicolon. Throws where it is too large for the server. Where
  // much was queued before it, that is sent and its answers are awaited: then it throws as run
  // does.
  void send(std::string_view statement, Loss loss = Loss::kNothingDone,
            const system::Deadline& deadline = kWithoutEnd);
  // Whether a statement of `size` bytes fits into a packet, and the error where it does not.
  bool takes(std::size_t size) const noexcept;
  Error too_large(std::size_t size) const;
  // The server's packet limit in bytes, read when the session began.
  std::size_t most() const noexcept { return most_; }
  // How many were sent since the last run.
  std::size_t sent() const noexcept { return sent_; }
  // Throws only where the connection is lost, or the deadline over, which loses it; `loss`
  // determines the error.
  Answers run(Loss loss, const system::Deadline& deadline = kWithoutEnd);

  // Drops statements that were sent here and have not run yet.
  void forget() noexcept;

  // The session's state as the server last reported it.
  bool in_transaction() const noexcept;
  bool commits_each() const noexcept;   // autocommit is on
  bool takes_escapes() const noexcept;  // a backslash in a string is an escape
  bool borrowed() const noexcept { return !owned_; }
  Literals literals() const noexcept { return owned_ ? Literals::kOurs : Literals::kAnyones; }

  // Gives the connection to its owner until something is sent again. That next call throws, and
  // runs nothing, where the transaction open now is over by then.
  void hand_over();
  // Ends the session: the server undoes its open work.
  void end() noexcept;
  // The exception for a refusal. It tells the owner of a borrowed connection where all of the
  // owner's work in the transaction is undone too.
  sql::Failure told(const Refusal& refusal);
  // Open, in no transaction, and without an unexpected message. Does not wait.
  bool whole() const noexcept;
  // The server, or a proxy, has not ended it, as far as is known here. Does not wait.
  bool alive() const noexcept;
  // The server refused a write because it only reads.
  bool refuses_writes() const noexcept { return refuses_writes_; }
  bool mariadb() const noexcept { return mariadb_; }
  // The number of the session, as the server reported it at the beginning.
  unsigned long session() const noexcept;

 private:
  void need_known_server() const;
  void need_nothing_unread() const;
  void take_back();
  void set_options(const Target& target);
  void connect(const Target& target, const system::Deadline::Stops& stops);
  void set_up(const system::Deadline& deadline);
  void need_row_log(std::string_view format);
  bool exchange(const std::string& packet);
  void flush(Loss loss);
  void read_all(Loss loss);
  void refuse(Loss loss);
  bool read_one(Loss loss);
  [[noreturn]] void lost(Loss loss);

  st_mysql* connection_;
  const bool owned_;
  std::string handed_over_;  // the savepoint that was set then; empty: none
  bool mariadb_ = false;
  bool broken_ = false;
  bool refuses_writes_ = false;
  std::size_t most_ = 0;  // bytes in one packet
  std::string packet_;
  std::size_t sent_ = 0;
  bool updates_ = false;  // the last statement sent is one
  Answers answers_;       // of statements sent early because there were many
  system::Deadline deadline_ = kWithoutEnd;
};

// A unique savepoint name: of two with one name the server forgets the first.
std::string unique_mark(std::string_view prefix);

sql::Failure failure_of(const Refusal& refusal);
sql::Answer answer_of(const Said& said);

}  // namespace semel::mysql
