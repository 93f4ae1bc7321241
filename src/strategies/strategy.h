// Strategy: in what way a consumer's effects happen once. One method.
//
// `process` takes deliveries whose keys all differ and which nobody else in this process has, and
// gives an ending for each of them, always, as it comes: a slow message holds back no other's
// ending. It is called by several threads at a time, each with other keys. It never throws.
//
// Where it `takes_followers`, a batch may have several deliveries of one ordering key, in their
// order; all but the first are marked (TrackedDelivery::follows). None of them takes effect before
// those before it have come to their ends. Behind one that comes again they end with kKeep, and
// without a delay, before that one does.
//
// Every strategy passes tests/conformance/strategy_suite.h and, with the engine, the crash matrix
// (tests/chaos/crash_matrix_test.cc).
#pragma once

#include <chrono>
#include <optional>
#include <span>

#include <semel/outcome.h>
#include <semel/spi/lease.h>

#include "core/tracked_delivery.h"

namespace semel::strategies {

class EndingSink {
 public:
  virtual ~EndingSink() = default;
  // Once, and only once, for each delivery of the batch; the reference is one of the batch's.
  virtual void ended(core::TrackedDelivery& delivery, Outcome outcome) noexcept = 0;
  // Whether the batch, or a part of it, waits for other transactions now: that is no handler which
  // hangs. False follows each true; not after the last delivery has ended.
  virtual void waits(bool now) noexcept { (void)now; }
  // The batch has waited so long for other transactions; nullopt: it has, and nobody knows how
  // long. That time says nothing about its messages. Not after the last delivery has ended.
  virtual void waited(std::optional<std::chrono::nanoseconds> time) noexcept { (void)time; }
};

class Strategy {
 public:
  virtual ~Strategy() = default;
  Strategy() = default;
  Strategy(const Strategy&) = delete;
  Strategy& operator=(const Strategy&) = delete;

  virtual void process(std::span<core::TrackedDelivery> batch, EndingSink& sink) noexcept = 0;
  virtual bool takes_followers() const noexcept { return false; }
};

}  // namespace semel::strategies
