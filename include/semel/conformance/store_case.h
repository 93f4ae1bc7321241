// The suites that every store passes, for a store of your own (docs/extending/store.md).
//
//   int main(int argc, char** argv) {
//     return semel::conformance::run_store_suites(
//         argc, argv, {{.name = "directory", .make = make_place, .lacks = {Facet::kHeld, …}}});
//   }
//
// In CMake: find_package(Semel REQUIRED COMPONENTS conformance), and link Semel::conformance. The
// program is one of GoogleTest's: it takes its options, and TESTs of your own run with the suites.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <semel/spi/store.h>
#include <semel/statement.h>

namespace semel::conformance {

// A database that outlives the stores opened on it. Each test makes one, which must be empty.
class StorePlace {
 public:
  virtual ~StorePlace() = default;
  // A store on it. Where the store is durable, several may be open at once, as several processes
  // would have them; else there is one at a time.
  virtual std::unique_ptr<Store> open() = 0;
  // Moves the store's clock, as every store that is open on it sees it.
  virtual void advance(std::chrono::milliseconds by) = 0;
  // Sets the store's clock back, as a person or a failover may, while no time passes. False where
  // nothing can.
  virtual bool set_back(std::chrono::milliseconds by) {
    static_cast<void>(by);
    return false;
  }

  // Until the next call, the open stores draw this number alone wherever they draw at random; then
  // two claims have the same nonce, as a claim has that a store repeats because its answer was
  // lost. Without a number they draw at random again. False where no test can set them.
  virtual bool draw_only(std::optional<std::uint64_t> number) {
    static_cast<void>(number);
    return false;
  }

  // For RunMarkers. A process that had it open was killed: returns when the database has noticed.
  // One machine notices immediately, a server a moment later.
  virtual void notice_death(pid_t pid) { static_cast<void>(pid); }

  // For a TransactionalStore, and for a database that other programs use too. Whether a session
  // waits for a lock of another. True where that cannot be observed.
  virtual bool somebody_waits() { return true; }
  // Runs SQL outside of every store, as another program would. Empty where there is no SQL.
  virtual std::function<Rows(const std::string& sql)> other_program() { return {}; }
  // Locks the oldest held row in a transaction of another program, until let_go(). False where that
  // locks the whole store, or where there is no SQL.
  virtual bool lock_oldest_held() { return false; }
  virtual void let_go() {}
  // Puts parked rows back at the beginning of this line, where older versions of the store kept
  // them. False where none did.
  virtual bool park_in_line(const Bytes& line) {
    static_cast<void>(line);
    return false;
  }
  // Names of the store's own tables. Empty where there is no SQL.
  virtual std::vector<std::string> own_tables() { return {}; }
  // Asks for values of these types: any integer, an integer, a real, a text, bytes, a text.
  virtual std::string echo() { return "SELECT ?, ?, ?, ?, ?, ?"; }
  virtual bool text_may_hold_nul() { return true; }
  // INSERT … RETURNING.
  virtual bool may_return_rows() { return true; }
  // A table, a trigger or a word of a statement may end the whole transaction, as SQLite's may.
  virtual bool schema_may_roll_back() { return false; }
};

// The members of StoreFacets.
enum class Facet {
  kTransactional,
  kHeld,
  kDeadLetters,
  kRecords,
  kPositions,
  kRuns,
  kGates,
  kLive,
  kSteps,
  kAudit,
};
inline constexpr Facet kAllFacets[] = {
    Facet::kTransactional, Facet::kHeld,  Facet::kDeadLetters, Facet::kRecords, Facet::kPositions,
    Facet::kRuns,          Facet::kGates, Facet::kLive,        Facet::kSteps,   Facet::kAudit};
// The member's name: "dead_letters".
const char* to_string(Facet facet) noexcept;

// One configuration of a store.
struct StoreCase {
  std::string name;  // letters, digits and underscores
  std::function<std::unique_ptr<StorePlace>()> make;
  // The facets that it does not have. Their suites are not run, and the run says which those are; a
  // declaration that is not so fails.
  std::set<Facet> lacks = {};
};

// Runs the suites, in GoogleTest's own way; main() returns what it returns. Call it once.
[[nodiscard]] int run_store_suites(int argc, char** argv, std::vector<StoreCase> cases);

}  // namespace semel::conformance
