// Source: brings messages from where they are, and settles them there.
//
// A source decides nothing: it returns arrivals, and settles them when it is asked to. It never
// looks at a record. An arrival stays unsettled until `settle` names its tag; an arrival that is
// unsettled when the source closes, or when its process dies, comes again. `receive` and `wakeup`
// are called by one thread; the other methods from any thread, also at the same time. No method
// throws. A runner takes a source of your own by FromOwn (consumer.h).
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <semel/outcome.h>
#include <semel/result.h>
#include <semel/spi/delivery.h>

namespace semel {

struct SourceTraits {
  std::string_view name;  // "file"
  // It brings a delivery again by itself after Settlement::kLater. If false, the runner keeps it.
  bool redelivers = false;
  // An arrival that was not settled comes again after a crash. False for stdin.
  bool replays = true;
  // Each message that was in hand when a process died comes again marked: Arrival::suspect. Crashes
  // are counted by nothing else then.
  bool marks_again = false;
  // Its arrivals are rows of the consumer's own store: Arrival::row is set, and a Finish may settle
  // them. For the store's own source only.
  bool in_store = false;
  bool ends = false;  // at_end can become true
  // Its sender waits for an answer: `ended` is called with a delivery's outcome before the delivery
  // is settled.
  bool answers = false;
  // One of its figures is "lag", of no partition, whenever it is known: how many messages wait in
  // front of it.
  bool tells_lag = false;
  // How long after the first arrival it can still deliver a message again; nullopt: unknown.
  std::optional<std::chrono::milliseconds> horizon{};
};

// How late a source can deliver a message again, where only its broker knows that, at run time.
struct Horizon {
  std::optional<std::chrono::milliseconds> longest{};  // nullopt: for ever
  std::string said{};  // the setting behind it: "topic orders has retention.ms=604800000"
  bool known = true;   // false: `said` is why it is unknown
};

// A current number of a source, for people.
struct SourceFigure {
  std::string name;         // "lag"
  std::string partition{};  // empty: of everything that the source reads
  std::int64_t value = 0;
  std::string text{};  // shown with it: an error
};

struct ReceiveLimits {
  std::size_t messages = 100;
  std::size_t bytes = 8 << 20;  // of payloads; at most one message may exceed it
  bool sure = false;            // at_end must be looked up now, not remembered
};

struct Received {
  std::vector<Arrival> arrivals{};
  bool at_end = false;  // there is no more, and none will come unless somebody adds it
  // Set when it has just become known: it is judged before the arrivals returned with it.
  std::optional<Horizon> horizon{};
  // Events that a person should know of: a file that was rotated, replaced, truncated.
  std::vector<std::string> notices{};
};

// When to call receive again.
struct Wakeup {
  int fd = -1;  // poll(2) it for POLLIN; -1: none
  // At the latest; nullopt: the descriptor alone.
  std::optional<std::chrono::milliseconds> due_in{};
};

struct Settlement {
  enum class Kind {
    kAck,      // recorded: never bring it again
    kLater,    // bring it again, not before `delay`; only where traits().redelivers
    kRelease,  // not started: bring it again, to anyone
    kGone,     // the record's own commit deleted or acknowledged it (Arrival::row,
               // Arrival::entry): only forget the tag
  };
  Tag tag;
  Kind kind = Kind::kAck;
  std::chrono::milliseconds delay{0};
};

class Source {
 public:
  virtual ~Source() = default;
  Source() = default;
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;

  virtual const SourceTraits& traits() const noexcept = 0;

  // Returns what is there now, and never waits. kUnavailable: the source is not reachable and
  // reconnects by itself; it is called again. Any other error ends the run with all its consumers.
  virtual Result<Received> receive(const ReceiveLimits& limits) = 0;
  virtual Wakeup wakeup() = 0;
  // A drain begins: `receive` is not called any more, and what was handed out is settled before
  // `close`. A source whose senders wait refuses new ones from now on. Does nothing by default. May
  // be called more than once.
  virtual void end_intake() noexcept {}

  // Tags that are unknown, settled before or of an older generation are ignored.
  virtual Result<void> settle(std::span<const Settlement> settlements) = 0;
  // Gives the outcome of a delivery that is settled next; the last call counts. Called only where
  // traits().answers. A delivery that is acknowledged without this call is kept in the store, and
  // comes again from there.
  virtual void ended(const Tag& tag, const Outcome& outcome) noexcept { (void)tag, (void)outcome; }
  // These deliveries are still being handled: do not bring them again for `by`.
  virtual Result<void> extend(std::span<const Tag> tags, std::chrono::milliseconds by) = 0;
  // Return nothing from `partition` until it is resumed. Empty: all partitions.
  virtual void set_paused(std::string_view partition, bool paused) = 0;
  // Numbers for the dashboard and the metrics; none by default. Must not wait, nor call the runner.
  // Empty once the source is closed.
  virtual std::vector<SourceFigure> figures() { return {}; }
  // The partitions that it has not read to their ends since they were assigned to it, named as in
  // its arrivals. nullopt by default: it has one partition, or does not know.
  virtual std::optional<std::vector<std::string>> unread() { return std::nullopt; }
  // Settles what is still to settle, and gives back the rest. Returns within about `deadline`.
  // Called once; only `figures` may be called after it.
  virtual Result<void> close(std::chrono::milliseconds deadline) = 0;
};

}  // namespace semel
