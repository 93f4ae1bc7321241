// ServerBench: what is asked of a store on a database server.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "benchmarks/by_hand.h"
#include "benchmarks/report.h"
#include "benchmarks/store_bench.h"

namespace semel::bench {

class ServerBench {
 public:
  // A place with so many accounts.
  using MakePlace = std::function<std::unique_ptr<Place>(std::size_t rows)>;

  ServerBench(const Options& options, MakePlace make_place);

  // `server`: its version and settings, in one line.
  void run(const std::string& server);

 private:
  void hot_rows(std::size_t rows);
  void purge();

  const Options options_;
  const std::size_t rows_;
  const MakePlace make_place_;
  Report report_;
  const Sizes sizes_;
  StoreBench stores_;
};

}  // namespace semel::bench
