// Wire: a connection to a server. Statements are sent without waiting, in one packet; one run reads
// all their answers. What stands behind the first that is refused does not run.
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

// How our sessions take SQL, and what our procedures remember.
inline constexpr const char* kSqlMode =
    "STRICT_ALL_TABLES,NO_BACKSLASH_ESCAPES,ERROR_FOR_DIVISION_BY_ZERO,NO_ZERO_DATE,"
    "NO_ZERO_IN_DATE,NO_ENGINE_SUBSTITUTION";

struct ResultDeleter {
  void operator()(st_mysql_res* result) const noexcept;
};
using ResultPtr = std::unique_ptr<st_mysql_res, ResultDeleter>;

// The answer to one statement.
struct Said {
  ResultPtr rows;           // null: it returns none
  std::size_t changed = 0;  // rows it found to change; of an upsert one that was there counts 0
  std::int64_t number = 0;  // the AUTO_INCREMENT that it gave
};
struct Answers {
  std::vector<Said> said;
  std::optional<Refusal> refused;  // the statement behind `said`
};

// What a lost connection means for what was just sent.
enum class Loss {
  kNothingDone,  // an open transaction: it is gone
  kInDoubt,      // it may have been committed
};

class Wire {
 public:
  inline static const system::Deadline kWithoutEnd{
      system::Deadline::kNever, system::Deadline::kNoStops, std::chrono::milliseconds(0)};

  // Throws Failure: R254 where there is a connection and no session behind it. `stops`: as in
  // Place.
  explicit Wire(const Target& target,
                const system::Deadline::Stops& stops = system::Deadline::kNoStops);
  // Over a connection that is another's, and whose settings stay as they are: each statement goes
  // by itself. Asks the server how its session stands.
  explicit Wire(st_mysql* borrowed);
  ~Wire();
  Wire(const Wire&) = delete;
  Wire& operator=(const Wire&) = delete;

  // One statement, without a semicolon. Throws where the server takes none this big. Where much was
  // sent that goes ahead of it, its answers are waited for: it throws then as run does.
  void send(std::string_view statement, Loss loss = Loss::kNothingDone,
            const system::Deadline& deadline = kWithoutEnd);
  // Whether a statement of `size` bytes fits into a packet, and the error where it does not.
  bool takes(std::size_t size) const noexcept;
  Error too_large(std::size_t size) const;
  // Bytes in one packet, as the server said when the session began.
  std::size_t most() const noexcept { return most_; }
  // How many were sent since the last run.
  std::size_t sent() const noexcept { return sent_; }
  // Throws only where the connection is lost, or the deadline over, which loses it; the error says
  // then what `loss` says.
  Answers run(Loss loss, const system::Deadline& deadline = kWithoutEnd);

  // What was sent and has not run yet does not run.
  void forget() noexcept;

  // As the server said last.
  bool in_transaction() const noexcept;
  bool commits_each() const noexcept;   // each statement that is in no transaction
  bool takes_escapes() const noexcept;  // a backslash in a string is one
  bool borrowed() const noexcept { return !owned_; }
  Literals literals() const noexcept { return owned_ ? Literals::kOurs : Literals::kAnyones; }

  // The connection is its owner's until something is sent again. Throws then, and runs nothing,
  // where the transaction that was open is not by now.
  void hand_over();
  // Ends the session: the server undoes what is open in it.
  void end() noexcept;
  // What is thrown for a refusal. A borrowed connection's owner is told where all that he did in
  // his transaction is undone too.
  sql::Failure told(const Refusal& refusal);
  // Open, in no transaction, and nothing came that nobody asked for. Does not wait.
  bool whole() const noexcept;
  // The server, or what is between, has not ended it, as far as is known here. Does not wait.
  bool alive() const noexcept;
  bool mariadb() const noexcept { return mariadb_; }
  // The number of the session, as the server said when it began.
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
  bool read_one(Loss loss);
  [[noreturn]] void lost(Loss loss);

  st_mysql* connection_;
  const bool owned_;
  std::string handed_over_;  // the mark that was set then; empty: it was not
  bool mariadb_ = false;
  bool broken_ = false;
  std::size_t most_ = 0;  // bytes in one packet
  std::string packet_;
  std::size_t sent_ = 0;
  bool updates_ = false;  // what was sent last
  Answers answers_;       // of what went ahead because it was much
  system::Deadline deadline_ = kWithoutEnd;
};

// A savepoint's name that no other has: of two with one name the server forgets the first.
std::string unique_mark(std::string_view prefix);

sql::Failure failure_of(const Refusal& refusal);
sql::Answer answer_of(const Said& said);

}  // namespace semel::mysql
