// LiveChecks: what a live store says of itself that bears on the promise.
//
// A guarantee is computed from the config; the server it runs on may be set to keep less. All
// calls only look. Any thread; errors as of the store's other calls.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include <semel/result.h>
#include <semel/spi/store.h>
#include <semel/statement.h>

namespace semel {

// As a session of Semel's meets it: what is set for the server, the database or the user counts.
struct LiveSetting {
  std::string name;   // "synchronous_commit"
  std::string value;  // "off"
  std::string risk;   // what can happen because of it; empty: nothing
  std::string fix;
};

// What the server says of a statement of the business before it is ever run.
struct LiveStatement {
  enum class State {
    kFine,
    kMissingTable,
    kNotTransactional,  // what it writes is not undone with the record
    kRefused,           // a column or a function is missing, a type does not fit, …
    kForbidden,         // the user has not the right
  };
  State state = State::kFine;
  std::string table = {};  // that is in no transaction
  std::string kind = {};   // of what is in no transaction: "MyISAM"
  std::string said = {};   // by the server, of what else is not fine
};

class LiveChecks {
 public:
  virtual ~LiveChecks() = default;
  // Those that decide what a crash of the server, or a failover, can take.
  virtual Result<std::vector<LiveSetting>> settings() = 0;
  // In the order of `statements`, which are prepared and not run. Of what the server cannot tell
  // before it has the values nothing is said.
  virtual Result<std::vector<LiveStatement>> statements(std::span<const Statement> statements) = 0;
  // The rules under which no violation by `statements` can fall, because the database has no
  // unique constraint of that name. In the order of `rules`.
  virtual Result<std::vector<UniqueRule>> idle_rules(std::span<const Statement> statements,
                                                     const std::vector<UniqueRule>& rules) = 0;
  // The consumer's number; nullopt where it was never attached. kRejected (R220) as Store::attach.
  virtual Result<std::optional<ConsumerNumber>> number_of(const ConsumerSpec& consumer) = 0;
};

}  // namespace semel
