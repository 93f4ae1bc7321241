// The store suites' cases, and what the suites share.
//
// The suites are written from docs/contract.md and the public headers alone. An adapter joins with
// a StoreCase in a file of its own (memory_store_case.cc); the case declares what the adapter
// cannot do, and nothing is skipped in silence.
#pragma once

#include <gtest/gtest.h>
#include <sys/types.h>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <variant>
#include <vector>

#include <semel/gates.h>
#include <semel/held_messages.h>
#include <semel/records.h>
#include <semel/run_markers.h>
#include <semel/steps.h>
#include <semel/store.h>
#include <semel/unit_of_work.h>

#include "tests/support/builders.h"

namespace semel::conformance {

using namespace std::chrono_literals;
using std::chrono::milliseconds;

// A database that outlives the stores opened on it.
class StorePlace {
 public:
  virtual ~StorePlace() = default;
  // A store on it. Where the store is durable, several may be open at once, as several processes
  // would have them; else there is one at a time.
  virtual std::unique_ptr<Store> open() = 0;
  // Moves the store's clock.
  virtual void advance(milliseconds by) = 0;
  // A process that had it open was killed: returns when the database has noticed. On one machine
  // that is at once; a server hears of it a moment later.
  virtual void notice_death(pid_t pid) { static_cast<void>(pid); }
  // Whether a session waits for what another has locked. True at once where nobody can tell.
  virtual bool somebody_waits() { return true; }
  // Runs SQL outside of every store, as another program would. Empty where there is no SQL.
  virtual std::function<Rows(const std::string& sql)> other_program() { return {}; }
  // Locks the oldest held row in a transaction of another program, until let_go(). False where that
  // locks the whole store, or where there is no SQL.
  virtual bool lock_oldest_held() { return false; }
  virtual void let_go() {}
  // Names of the store's own tables. Empty where there is no SQL.
  virtual std::vector<std::string> own_tables() { return {}; }
  // Asks for values of these types: any integer, an integer, a real, a text, bytes, a text.
  virtual std::string echo() { return "SELECT ?, ?, ?, ?, ?, ?"; }
  virtual bool text_may_hold_nul() { return true; }
  // INSERT … RETURNING.
  virtual bool may_return_rows() { return true; }
  virtual bool has_transactions() { return true; }
  // A table, a trigger or a word of a statement may end the whole transaction, as SQLite's may.
  virtual bool schema_may_roll_back() { return false; }
};

struct StoreCase {
  std::string name;
  std::function<std::unique_ptr<StorePlace>()> make;
};
inline void PrintTo(const StoreCase& c, std::ostream* out) { *out << c.name; }
inline const testing::PrintToStringParamName kStoreCaseName;

// "Acquired(attempt 2, taken over)" …: what a failed test prints.
std::string describe(const Claim& claim);

template <class T>
bool is(const Claim& claim) {
  return std::holds_alternative<T>(claim);
}

// Makes the message a dead letter.
Finish letter_for(const Message& message, std::string reason = "key.conflict");

using Payloads = std::vector<Bytes>;
Payloads payloads(const std::vector<Arrival>& arrivals);

// One store, one consumer, and calls on single messages.
class StoreTest : public testing::TestWithParam<StoreCase> {
 protected:
  static constexpr milliseconds kLease = 60s;
  static constexpr milliseconds kPastLease = 61s;

  void SetUp() override;
  // Whatever a test did, the store agrees with itself.
  void TearDown() override;

  Store& store() { return *store_; }
  StorePlace& place() { return *place_; }
  bool durable() { return store_->traits().durable; }
  // Closes and opens a durable store; any other stays as it is.
  void reopen();
  void advance(milliseconds by) { place_->advance(by); }
  ConsumerNumber attach(const std::string& name, std::optional<milliseconds> ttl = std::nullopt);
  ConsumerNumber consumer() const { return consumer_; }
  Message message(BytesView key, BytesView payload = "{}") const {
    return test::make_message(consumer_, key, payload);
  }

  Claim claim(const Message& message, const ClaimOptions& options = {kLease, {}, false}) {
    return claim_on(store(), message, options);
  }
  static Claim claim_on(Store& store, const Message& message,
                        const ClaimOptions& options = {kLease, {}, false});
  // Fails the test where it is not Acquired.
  Acquired acquire(const Message& message);
  Applied finish(const Finish& finish) { return finish_on(store(), finish); }
  static Applied finish_on(Store& store, const Finish& finish);
  Applied renew(const Lease& lease, milliseconds by = kLease);

  // The record of `message` brought to a state, from new.
  void complete(const Message& message, Bytes result = {});
  void bring_to(const Message& message, RecordState state);

  HeldMessages& held() { return *store_->facets().held; }
  DeadLetters& dead_letters() { return *store_->facets().dead_letters; }
  RecordInspector& records() { return *store_->facets().records; }
  Positions& positions() { return *store_->facets().positions; }
  Gates& gates() { return *store_->facets().gates; }
  AuditLog& audit() { return *store_->facets().audit; }
  StepStore& steps() { return *store_->facets().steps; }

  std::vector<Arrival> take(std::size_t max = 100, milliseconds hidden = 60s) {
    return take_for(consumer_, max, hidden);
  }
  std::vector<Arrival> take_for(ConsumerNumber consumer, std::size_t max, milliseconds hidden);
  void append(std::vector<HeldMessage> messages);
  // One held message under `key`.
  static HeldMessage held_message(std::optional<Bytes> key, Bytes payload = "{}",
                                  milliseconds delay = 0ms);
  std::vector<DeadLetter> all_dead_letters();

 private:
  std::unique_ptr<StorePlace> place_;
  std::unique_ptr<Store> store_;
  ConsumerNumber consumer_{};
};

class StoreSuite : public StoreTest {};
class HeldSuite : public StoreTest {};
// Payloads like "a:1" stand in line "a"; those without a colon in none.
class HeldLinesSuite : public StoreTest {
 protected:
  static std::optional<Bytes> line_of(const Arrival& arrival);

  void send(const std::vector<Bytes>& payloads);
  std::vector<Arrival> take_from(Store& store, std::size_t max = 100, milliseconds hidden = 30s);
  std::vector<Arrival> take_lines(std::size_t max = 100, milliseconds hidden = 30s) {
    return take_from(store(), max, hidden);
  }
  void remove(const Arrival& arrival);
  void release(const Arrival& arrival, milliseconds delay = 0ms);
  // Pairs of key and payload.
  std::vector<HeldMessages::Place> hold(const std::vector<std::pair<Bytes, Bytes>>& messages,
                                        std::size_t most = 1 << 20);
};
class DeadLetterSuite : public StoreTest {};
class RecordsSuite : public StoreTest {};
class PositionsSuite : public StoreTest {};
class GatesSuite : public StoreTest {};
class AuditSuite : public StoreTest {};
class StepsSuite : public StoreTest {};
// Opens nothing by itself: its tests fork before they open.
class RunMarkersSuite : public testing::TestWithParam<StoreCase> {};

}  // namespace semel::conformance
