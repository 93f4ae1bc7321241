// StoreBench: the questions that are asked of every store, each against what is written by hand on
// the same database in the same run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "benchmarks/by_hand.h"
#include "benchmarks/consumer.h"
#include "benchmarks/report.h"
#include "benchmarks/workload.h"
#include "core/guarantee.h"

namespace semel::bench {

// Accounts in the tables of a place.
inline constexpr std::size_t kRows = 10'000;

// The input of one question.
struct Setting {
  Work work = Work::kEffects;
  core::StrategyKind strategy = core::StrategyKind::kDedupTable;
  Keys keys = Keys::kOrdered;
};

struct Sizes {
  std::size_t rounds = 0;
  std::size_t many = 0;      // messages of a round in batches
  std::size_t few = 0;       // of a round one by one
  std::size_t hot_rows = 0;  // accounts the effects fall on
  bool redeliver = false;    // after the measurement every message comes again, and changes nothing
};

// Each round has a place of its own.
class StoreBench {
 public:
  StoreBench(Report& report, const Sizes& sizes,
             std::function<std::unique_ptr<SocketDirectory>()> make_place)
      : report_(report), sizes_(sizes), make_place_(std::move(make_place)) {}

  // Effects, claims, inbox, two phases, with keys that grow and with keys that do not.
  void fresh();
  void fresh(const std::string& name, const Setting& setting, const std::string& what);
  // Among `there` records, against raw among as many, and against itself on an empty table.
  void preloaded(const std::string& name, std::size_t there, Keys keys);
  // Consumers written by hand, on this many connections.
  void naive_on(std::size_t connections);
  // A queue of `waiting` messages with few ordering keys, against the same queue without an order.
  // `workers`: as the program has them for such a store.
  void queue_order_backlog(std::size_t waiting, int workers);
  // The seconds until a consumer is at its speed, with `in_hand` messages of its queue in the hand
  // of a process that was killed, against the same queue without it.
  void after_kill(std::size_t in_hand, std::size_t waiting);
  // Messages that come one at a time: the median from receive to settled, as a rate.
  void latency();

  std::vector<std::string> messages(std::size_t count, Keys keys) {
    return make_payloads(count, keys, ++seed_, sizes_.hot_rows);
  }
  static ConsumerRun run_of(const Setting& setting);
  // Ends the benchmark unless the effects are those of these messages, each once, on accounts that
  // held `before`.
  static void check_sum(const SocketDirectory& place, const std::vector<std::string>& payloads,
                        long long before = 0);
  static void check_sum(const SocketDirectory& place, long long expected);

 private:
  void fill(const SocketDirectory& place, Store& store, std::size_t there, Keys keys);
  void among(const std::string& name, const SocketDirectory& place, Store& store,
             const Setting& setting, std::size_t there);
  double by_hand(const Setting& setting, std::size_t count, std::size_t batch);
  double with_semel(const Setting& setting, std::size_t count);
  double deliver(Store& store, const Setting& setting, const std::vector<std::string>& payloads);

  Report& report_;
  const Sizes sizes_;
  const std::function<std::unique_ptr<SocketDirectory>()> make_place_;
  std::uint64_t seed_ = 0;
};

}  // namespace semel::bench
