// Strategy: the way in which a consumer's effects happen once. One method.
//
// `process` takes deliveries whose keys all differ and that are in no other batch of this process,
// and gives an outcome for each of them, always, as soon as it is known: a slow message does not
// delay other outcomes. Several threads call it at the same time, with different keys. It never
// throws.
//
// If it `takes_followers`, a batch may have several deliveries of one ordering key, in their order;
// all but the first are marked (TrackedDelivery::follows). None of them takes effect before those
// before it have ended. Behind one that comes again they end with kKeep, without a delay, and
// before that one does.
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

class OutcomeSink {
 public:
  virtual ~OutcomeSink() = default;
  // Called once for each delivery of the batch; the reference is one of the batch's.
  virtual void ended(core::TrackedDelivery& delivery, Outcome outcome) noexcept = 0;
  // Whether the batch, or a part of it, waits for other transactions now: such a wait is no handler
  // that hangs. false follows each true; not called after the last delivery has ended.
  virtual void waits(bool now) noexcept { (void)now; }
  // How long the batch has waited for other transactions; nullopt: it has, for an unknown time.
  // That time says nothing about its messages. Not called after the last delivery has ended.
  virtual void waited(std::optional<std::chrono::nanoseconds> time) noexcept { (void)time; }
};

class Strategy {
 public:
  virtual ~Strategy() = default;
  Strategy() = default;
  Strategy(const Strategy&) = delete;
  Strategy& operator=(const Strategy&) = delete;

  virtual void process(std::span<core::TrackedDelivery> batch, OutcomeSink& sink) noexcept = 0;
  virtual bool takes_followers() const noexcept { return false; }
};

}  // namespace semel::strategies
