// ServerBench: what is asked of a store on a database server.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "benchmarks/by_hand.h"
#include "benchmarks/report.h"
#include "benchmarks/store_bench.h"

namespace semel::bench {

class ServerBench {
 public:
  // A place with so many accounts.
  using MakePlace = std::function<std::unique_ptr<SocketDirectory>(std::size_t rows)>;

  ServerBench(const Options& options, MakePlace make_place);

  // `server`: its version and settings, in one line.
  void run(const std::string& server);

 private:
  using MakePayloads = std::function<std::vector<std::string>(std::size_t count)>;

  void hot_rows(std::size_t rows);
  void transfers(std::size_t rows);
  // The rate of consumers that each have a store and an equal part of the messages, together.
  double together(const std::vector<ConsumerRun>& runs, std::size_t rows, const MakePayloads& make);
  void purge();

  const Options options_;
  const std::size_t rows_;
  const MakePlace make_place_;
  Report report_;
  const Sizes sizes_;
  StoreBench stores_;
};

}  // namespace semel::bench
