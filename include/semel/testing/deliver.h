// deliver: runs a handler under duplicates, re-orderings, crashes and pauses, and reports what was
// doubled or lost, with the schedule that did it.
//
//   semel::testkit::TestStore bank("CREATE TABLE account(id TEXT PRIMARY KEY, balance INTEGER);"
//                                  "INSERT INTO account VALUES ('ada', 100);");
//   const auto report = semel::testkit::deliver(
//       [](const semel::Message& m, semel::Transaction& tx) {
//         tx.exec("UPDATE account SET balance = balance + ? WHERE id = 'ada'",
//                 m.json<int>("/amount"));
//         return semel::done();
//       },
//       {{.key = "p-1", .payload = R"({"amount": 5})"}}, {.store = &bank});
//   EXPECT_TRUE(report) << report;  // GoogleTest
//   REQUIRE(report);                // Catch2, which prints it by itself
//
// The messages are delivered once each, in their order and without a fault: the state that the
// handler has left then is the one that every other run must leave. The runs that follow deliver
// them more than once, in other orders and in batches, and end or pause the consumer at each named
// point of its way (docs/testing.md), including the handler's own points (outside.h).
//
// The source, the crashes and the time are simulated. The strategy, or the Guard, the handler and
// the store are those of production. A crash ends the consumer within this process: its transaction
// is undone, its claims stay until their lease is over, and another consumer is given what was not
// acknowledged. The handler's statics survive, as they do not in production: a handler that keeps
// something in one is found by that. A pause lets another consumer take over, after the lease, and
// then resumes the first. All runs on the calling thread, and nothing waits: the same options make
// the same runs. At each point the handler may be entered again below itself, so it must hold no
// lock there that it takes itself, or `pauses` must be false. At a simulated crash its destructors
// and catch blocks run, as they do not in production.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iosfwd>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <semel/bytes.h>
#include <semel/guard.h>
#include <semel/handler.h>
#include <semel/message.h>
#include <semel/retry_policy.h>
#include <semel/step_spec.h>
#include <semel/testing/outside.h>
#include <semel/testing/test_store.h>

namespace semel::testkit {

struct TestMessage {
  Bytes key;
  Bytes payload{};
  Headers headers{};
  std::string content_type{};
  std::string type{};
  Bytes ordering_key{};  // messages with the same one are never re-ordered; empty: may be
};

// How often each thing is there, by its name.
using Counts = std::map<std::string, std::int64_t>;

struct DeliverOptions {
  // Borrowed. Null: a store in memory, without tables, for a handler that takes no Transaction.
  TestStore* store = nullptr;

  // As the runner has it: the strategy by its name in the config, empty for the one that the
  // runner would choose. A strategy that needs more than a handler (query, pessimistic_lock,
  // optimistic_lock) is refused.
  std::string strategy{};
  ApplyHandler apply{};  // the second part of work in two
  std::optional<StepSpecs> steps{};
  std::vector<std::string> receivers{};  // names that the handler may publish to
  RetryPolicy retry{};
  std::chrono::milliseconds lease{60'000};

  // Or by a Guard with these options: run_once for a single message, run_batch for several.
  // Strategy, apply, steps, retry and lease above are then ignored; consumer, environment and
  // receivers are the kit's. No thread renews its leases: a pause outlasts them.
  std::optional<GuardOptions> guard{};

  // The runs are compared by the rows of all tables of `store`, or, where given, of these queries
  // (leave out a column that may differ: a time, a number that the database gives); the effects in
  // `outside`; and the counts of `state`. `reset` is called before each run, and restores state
  // that the kit does not know.
  std::vector<std::string> rows{};
  std::vector<Outside*> outside{};
  std::function<Counts()> state{};
  std::function<void()> reset{};
  // For a handler whose guarantee says so: at_least_once doubles, at_most_once loses.
  bool may_double = false;
  bool may_lose = false;
  // A message is meant to be given up: a dead letter, or one that is parked for a person. Without
  // this, that is a finding: a handler that never works would pass otherwise.
  bool may_give_up = false;

  // The faults to inject.
  bool duplicates = true;
  bool reorderings = true;
  bool batches = true;
  bool crashes = true;
  bool pauses = true;
  // Random runs of several faults, by `seed`, after each point had its crash and its pause.
  std::size_t random_runs = 100;
  std::uint64_t seed = 1;
  // One run alone: Report::replay of an earlier report, with the same messages and options. A
  // fault of it that does not happen is a finding: the handler passes other points than before.
  std::string replay{};
};

struct Finding {
  enum class Kind {
    kDoubled,   // more often than in the run without a fault
    kLost,      // less often
    kDiffers,   // it is not what it is in the run without a fault
    kUnsteady,  // two runs of one schedule differ: the handler keeps something between runs
    kGivenUp,   // a dead or parked message, without any fault
    kStuck,     // the messages were never all settled
    kNoFault,   // a fault of DeliverOptions::replay did not happen
  };
  Kind kind = Kind::kDoubled;
  std::string what;  // "account: ('ada', 110)"
  std::int64_t expected = 0;
  std::int64_t found = 0;
};
const char* to_string(Finding::Kind kind) noexcept;  // "doubled", …

struct Report {
  std::vector<Finding> findings;   // of the shortest schedule that was found; empty: all is well
  std::string replay;              // that schedule, for DeliverOptions::replay
  std::vector<std::string> steps;  // and what happens in it, a line each

  std::size_t runs = 0;
  std::size_t crashes = 0;       // in all runs
  std::size_t pauses = 0;        // likewise
  std::set<std::string> points;  // points that were passed
  // As DeliverOptions has them: such a difference was allowed, and is no finding.
  bool may_double = false;
  bool may_lose = false;

  // Nothing was found.
  explicit operator bool() const noexcept { return findings.empty(); }
  bool has(Finding::Kind kind) const noexcept;
  // For people; several lines where something was found. Without a line end.
  std::string text() const;
};
std::ostream& operator<<(std::ostream& out, const Report& report);

// Throws SemelError where handler and options do not go together. An asynchronous handler is
// refused: it ends on a thread that no schedule has in hand.
[[nodiscard]] Report deliver_to(Handler handler, std::vector<TestMessage> messages,
                                DeliverOptions options = {});

// The same with any callable that make_handler takes.
template <class F>
[[nodiscard]] Report deliver(F handler, std::vector<TestMessage> messages,
                             DeliverOptions options = {}) {
  return deliver_to(make_handler(std::move(handler)), std::move(messages), std::move(options));
}

}  // namespace semel::testkit
