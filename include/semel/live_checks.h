// LiveChecks: what a live store says of itself that bears on the promise.
//
// A guarantee is computed from the config; the server it runs on may be set to keep less. Both
// calls only look. Any thread; errors as of the store's other calls.
#pragma once

#include <span>
#include <string>
#include <vector>

#include <semel/result.h>

namespace semel {

// As a session of Semel's meets it: what is set for the server, the database or the user counts.
struct LiveSetting {
  std::string name;   // "synchronous_commit"
  std::string value;  // "off"
  std::string risk;   // what can happen because of it; empty: nothing
  std::string fix;
};

struct LiveTable {
  enum class State {
    kFine,
    kMissing,
    kNotTransactional,  // what is written to it is not undone with the record
  };
  std::string name;
  State state = State::kFine;
  std::string kind;  // where it is not transactional: "MyISAM"
};

class LiveChecks {
 public:
  virtual ~LiveChecks() = default;
  // Those that decide what a crash of the server, or a failover, can take.
  virtual Result<std::vector<LiveSetting>> settings() = 0;
  // Tables of the business in the store's database, named as statements name them, in the order of
  // `names`.
  virtual Result<std::vector<LiveTable>> tables(std::span<const std::string> names) = 0;
};

}  // namespace semel
