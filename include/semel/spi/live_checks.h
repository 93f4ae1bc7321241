// LiveChecks: settings and statements of a live store that bear on a consumer's guarantee.
//
// A guarantee is computed from the config; the server may be configured to keep less. All calls
// only read. Thread-safe. Errors: as the store's other calls.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include <semel/result.h>
#include <semel/spi/recorded_statement.h>
#include <semel/spi/store.h>

namespace semel {

// A setting as Semel's sessions have it: set for the server, the database or the user.
struct LiveSetting {
  std::string name;   // "synchronous_commit"
  std::string value;  // "off"
  std::string risk;   // what can happen because of it; empty: nothing
  std::string fix;
};

// The server's judgement of a business statement before it is ever run.
struct LiveStatement {
  enum class State {
    kFine,
    kMissingTable,
    kNotTransactional,  // what it writes is not undone with the record
    kRefused,           // a column or a function is missing, a type does not fit, …
    kForbidden,         // the user lacks the right
  };
  State state = State::kFine;
  std::string table = {};  // kNotTransactional: the table
  std::string kind = {};   // kNotTransactional: its kind, as "MyISAM"
  std::string said = {};   // the server's message for every other state but kFine
};

class LiveChecks {
 public:
  virtual ~LiveChecks() = default;
  // The settings that decide what a crash of the server, or a failover, can lose.
  virtual Result<std::vector<LiveSetting>> settings() = 0;
  // In the order of `statements`, which are prepared and not run. An error that shows only with
  // values is not found.
  virtual Result<std::vector<LiveStatement>> statements(std::span<const Statement> statements) = 0;
  // The rules that no violation by `statements` can meet, because the database has no unique
  // constraint of that name. In the order of `rules`.
  virtual Result<std::vector<UniqueRule>> idle_rules(std::span<const Statement> statements,
                                                     const std::vector<UniqueRule>& rules) = 0;
  // The consumer's number; nullopt where it was never attached. kRejected (R220) as Store::attach.
  virtual Result<std::optional<ConsumerNumber>> number_of(const ConsumerSpec& consumer) = 0;
};

}  // namespace semel
