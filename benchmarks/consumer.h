// The Semel side: a consumer as the program would run it, over a store and messages from memory.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <semel/handler.h>
#include <semel/observer.h>
#include <semel/retry_policy.h>
#include <semel/spi/source.h>
#include <semel/spi/store.h>

#include "benchmarks/preset_source.h"
#include "core/guarantee.h"
#include "core/order.h"

namespace semel::bench {

struct ConsumerRun {
  // Nothing to do, in the store's transaction or anywhere, but to count the calls.
  void set_idle_handler(bool transactional);

  std::string name = "bench";
  core::StrategyKind strategy = core::StrategyKind::kDedupTable;
  Handler handler;
  std::shared_ptr<std::atomic<std::size_t>> calls;  // null: the handler counts none
  std::size_t batch = 100;
  std::optional<std::size_t> batch_first;  // none: as large as the others
  int workers = 0;                         // as the program has it for one writer
  std::size_t at_a_time = 0;
  std::size_t most_running = 0;  // of an asynchronous handler
  std::optional<core::Order> order;
  bool want_result = false;      // claims bring the stored results of duplicates
  Observer* observer = nullptr;  // null: nobody looks
  std::chrono::milliseconds ttl = std::chrono::hours(7 * 24);
  std::optional<RetryPolicy> retry;
  double seconds = 0;  // stop after so long, with what was handled by then; 0: handle all
};

// Handles all of `payloads`. The benchmark ends with a message unless each ends acked and a handler
// that counts was called for each. Yields messages per second.
double consume(Store& store, const ConsumerRun& run, const std::vector<std::string>& payloads,
               Tally* told = nullptr);

// Handles all that a source brings until its end.
void consume_from(Store& store, const ConsumerRun& run, std::unique_ptr<Source> source);
// Puts `payloads` into the consumer's queue, then handles all that is in it. The benchmark ends
// with a message unless the queue is empty then. Yields messages per second of the handling.
double consume_queue(Store& store, const ConsumerRun& run,
                     const std::vector<std::string>& payloads);
// Puts `payloads` into the consumer's queue.
void enqueue(Store& store, const ConsumerRun& run, const std::vector<std::string>& payloads);
// Handles all of the queue, its first batch as small as the program's; yields the seconds at which
// each message ended, in order, since the consumer began.
std::vector<double> end_times(Store& store, const ConsumerRun& run);
// For a process that is killed: as a consumer with so many messages of its queue in hand.
void take_in_hand(Store& store, const ConsumerRun& run, std::size_t messages);
// Delivers once more what `run` has handled. The benchmark ends with a message if a handler is
// called for any of them.
void redeliver(Store& store, ConsumerRun run, const std::vector<std::string>& payloads);

// The SQL handler a config would make of the effect.
Handler effect_handler();
// The same of a transfer.
Handler transfer_handler();

}  // namespace semel::bench
