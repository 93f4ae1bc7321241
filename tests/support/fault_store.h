// A store that fails when a test requests it: any call, the n-th time, before or after it was
// applied.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include <semel/spi/held_messages.h>
#include <semel/spi/store.h>
#include <semel/spi/unit_of_work.h>

namespace semel::test {

enum class StoreCall {
  kAttach,
  kClaim,
  kRenew,
  kFinish,
  kPurge,
  kBegin,
  kUnitClaim,
  kUnitConfirm,
  kUnitQuery,
  kUnitFlush,
  kUnitUndo,
  kUnitFinish,
  kUnitCommit,
  kHeldAppend,
  kHeldTake,
  kHeldBehind,
  kHeldLines,
  kHeldRelease,
  kHeldExtend,
  kHeldRemove,
  kHeldDepth,
};

enum class When {
  kBefore,  // the store never saw the call; such a failed commit rolls back
  kAfter,   // the store did it, and the answer was lost
};

// The failures to inject. Thread-safe; must outlive the stores that use it.
class FaultPlan {
 public:
  // The `nth` coming of `call` from now on (1: the next one) fails so.
  void fail(StoreCall call, std::size_t nth, ErrorKind kind, When when);
  // Every coming of `call` fails so, until clear.
  void fail_always(StoreCall call, ErrorKind kind, When when);
  void clear();
  // Runs `then` after the store has answered the next coming of `call`, before its caller hears.
  void delay_answer(StoreCall call, std::function<void()> then);
  // For the store: the delay that is due now, of those above.
  std::function<void()> take_delay(StoreCall call);

  // How many faults fired: a test that injects one asserts this.
  std::size_t fired() const;
  std::size_t fired(StoreCall call) const;
  std::size_t calls(StoreCall call) const;

  struct Fault {
    ErrorKind kind;
    When when;
  };
  // Counts one occurrence of `call` and returns its fault, if it must fail.
  std::optional<Fault> met(StoreCall call);

 private:
  struct Planned {
    StoreCall call;
    std::size_t left;  // comings until it fires; zero: at each of them
    Fault fault;
  };
  mutable std::mutex mutex_;
  std::vector<Planned> planned_;
  std::map<StoreCall, std::function<void()>> delays_;
  std::map<StoreCall, std::size_t> fired_;
  std::map<StoreCall, std::size_t> calls_;
};

// Wraps `inner`, its units of work and its held messages; the other facets are its own. Borrows
// both.
std::unique_ptr<Store> make_fault_store(Store& inner, FaultPlan& plan);

}  // namespace semel::test
