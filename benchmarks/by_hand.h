// Consumers written by hand over a database, without Semel: the raw limit with a transaction for
// each batch, and the naive consumer with one for each message. Same settings, prepared statements
// or packets of them; each as fast as its style allows.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include <semel/spi/store.h>

#include "benchmarks/workload.h"

namespace semel::bench {

enum class Work {
  kClaims,    // the record alone
  kEffects,   // and the UPDATE
  kInbox,     // and the message kept
  kTwoPhase,  // a claim, committed without a sync of its own where that is possible; then the
              // completion
};

// A consumer over its own connection. The record's table is made where it is missing.
class ByHand {
 public:
  virtual ~ByHand() = default;
  ByHand() = default;
  ByHand(const ByHand&) = delete;
  ByHand& operator=(const ByHand&) = delete;

  // Handles all, `batch` to a transaction. Yields messages per second.
  double consume(const std::vector<std::string>& payloads, std::size_t batch);
  // One message to a transaction: the seconds that each took.
  std::vector<double> latencies(const std::vector<std::string>& payloads);
  // Puts records there, sorted, to begin with.
  virtual void preload(const std::vector<std::string>& payloads) = 0;

 protected:
  // As one transaction that takes as few round trips as it can.
  virtual void handle(const std::string* payloads, std::size_t count) = 0;
  // As most people write it: one statement after the other.
  virtual void handle_naively(const std::string& payload) { handle(&payload, 1); }
};

// A database of a benchmark's own, empty but for its accounts; gone with the object.
class SocketDirectory {
 public:
  virtual ~SocketDirectory() = default;
  virtual std::unique_ptr<ByHand> by_hand(Work work) const = 0;
  virtual std::unique_ptr<Store> open() const = 0;
  // Where a connection of one's own goes; empty: that was not wanted of it yet.
  virtual std::string url() const { return {}; }
  // The contents of the accounts.
  virtual long long sum() const = 0;
  // How many messages the consumers written by hand have recorded as processed.
  virtual std::size_t processed() const = 0;
  // Puts so many records into the tables of both, in the order of their keys, by means of the
  // database's own. The tables are there, and Semel's has a record, whose consumer all others get.
  // False where that is done message by message.
  virtual bool fill(Keys, std::size_t) const { return false; }
};

// The contents of the accounts once each of these had its effect once.
long long sum_of_amounts(const std::vector<std::string>& payloads);

}  // namespace semel::bench
