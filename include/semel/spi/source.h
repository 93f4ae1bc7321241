// Source: where messages come from, and where their end is told.
//
// A source decides nothing: it yields arrivals, and settles them when told. It never looks at a
// record. An arrival stays unsettled until `settle` names its tag; what is unsettled when the
// source closes or its process dies comes again. `receive` and `wakeup` are called by one thread;
// the others may be called from any thread, also meanwhile.
//
// Every adapter runs tests/conformance/source_suite.cc.
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
  // It brings a delivery again by itself after Settlement::kLater. Where not, the engine keeps it.
  bool redelivers = false;
  // What it yields but does not get settled comes again after a crash. stdin's does not.
  bool replays = true;
  // It yields rows of the consumer's own store: Arrival::row is set, and a Finish may settle it.
  bool in_store = false;
  bool ends = false;  // at_end can become true
  // Its sender waits for an answer: `ended` says how a delivery ended, before it is settled.
  bool answers = false;
  // How late it can still redeliver; none: not known.
  std::optional<std::chrono::milliseconds> horizon{};
};

// How late a source can bring a message again, where only it can find out, and only at work.
struct Horizon {
  std::optional<std::chrono::milliseconds> longest;  // none: for ever
  std::string said;   // by what: "topic orders has retention.ms=604800000"
  bool known = true;  // false: `said` is why it is not
};

// One figure of a source, as of now, for a person to see.
struct SourceFigure {
  std::string name;       // "lag"
  std::string partition;  // empty: of all that the source reads
  std::int64_t value = 0;
  std::string text;  // what is said with it: an error
};

struct ReceiveLimits {
  std::size_t messages = 100;
  std::size_t bytes = 8 << 20;  // passed by at most one message
  bool sure = false;            // at_end is found out anew, not remembered
};

struct Received {
  std::vector<Arrival> arrivals;
  bool at_end = false;  // nothing more now, and nothing will come without someone adding it
  // Found out just now: it is judged before what came with it is looked at.
  std::optional<Horizon> horizon;
  // What the source met that a person should know: a file that was rotated, replaced, truncated.
  std::vector<std::string> notices;
};

// When to call receive again.
struct Wakeup {
  int fd = -1;  // poll(2) it for POLLIN; -1: none
  std::optional<std::chrono::milliseconds>
      due_in;  // at the latest; none: only the descriptor tells
};

struct Settlement {
  enum class Kind {
    kAck,      // recorded: never bring it again
    kLater,    // bring it again, not before `delay`; only where traits().redelivers
    kRelease,  // not started: bring it again, to anyone
    kGone,     // the record's own commit took it (Arrival::row): only forget the tag
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

  // What is there now, never waiting. kUnavailable: the source is away; it reconnects by itself,
  // call again. Any other error is final.
  virtual Result<Received> receive(const ReceiveLimits& limits) = 0;
  virtual Wakeup wakeup() = 0;
  // A drain begins: nothing is received any more, and what was handed out is settled before
  // `close`. A source whose senders wait refuses the others now. By default nothing. It may be
  // called again.
  virtual void end_intake() noexcept {}

  // Tags that are unknown, settled before or of an older generation are ignored.
  virtual Result<void> settle(std::span<const Settlement> settlements) = 0;
  // How a delivery that is settled next has ended; the last call counts. Only where
  // traits().answers. One that is acknowledged without it is kept in the store, and comes again
  // from there.
  virtual void ended(const Tag& tag, const Outcome& outcome) noexcept { (void)tag, (void)outcome; }
  // These are still being worked on: do not bring them again for `by`.
  virtual Result<void> extend(std::span<const Tag> tags, std::chrono::milliseconds by) = 0;
  // Yield nothing from `partition` until resumed. Empty: all partitions.
  virtual void set_paused(std::string_view partition, bool paused) = 0;
  // For whoever looks at a run: nothing by default. Quick; nothing once it is closed.
  virtual std::vector<SourceFigure> figures() { return {}; }
  // Its partitions that were not read to their ends since it has them, named as in its arrivals.
  // Nothing by default: it has one, or does not know.
  virtual std::optional<std::vector<std::string>> unread() { return std::nullopt; }
  // Tells what is settled; gives back the rest. Returns within about `deadline`.
  virtual Result<void> close(std::chrono::milliseconds deadline) = 0;
};

}  // namespace semel
