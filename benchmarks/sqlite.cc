// SQLite: records and effects against what is written by hand, in the same run.
#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>
#include <string>
#include <vector>

#include <semel/version.h>

#include "benchmarks/measure.h"
#include "benchmarks/processes.h"
#include "benchmarks/report.h"
#include "benchmarks/sqlite_place.h"
#include "benchmarks/store_bench.h"
#include "benchmarks/workload.h"

namespace semel::bench {
namespace {

class SqliteBench {
 public:
  explicit SqliteBench(const Options& options)
      : options_(options),
        report_(options),
        sizes_{.rounds = options.pick<std::size_t>(1, 3, 5),
               .many = options.pick<std::size_t>(300, 30'000, 200'000),
               .few = options.pick<std::size_t>(10, 1'500, 20'000),
               .hot_rows = kHotRows,
               .redeliver = options.smoke()},
        stores_(report_, sizes_, [this] { return make_sqlite_place(new_path()); }) {}

  void run() {
    report_.header(
        {fmt::format("Semel {}, SQLite {}; WAL, synchronous=FULL, 32 MiB of cache each; {} byte "
                     "messages, {} hot rows, {} rounds of {} (naive: {})",
                     version(), sqlite3_libversion(), kPayload, kHotRows, sizes_.rounds,
                     sizes_.many, sizes_.few)});
    stores_.fresh();
    const auto there = options_.pick<std::size_t>(1'000, 1'500'000, 1'500'000);
    stores_.preloaded("effects-preloaded", options_.preload.value_or(there), Keys::kRandom);
    stores_.latency();
    stores_.queue_order_backlog(options_.pick<std::size_t>(300, 10'000, 100'000), 0);
    stores_.after_kill(options_.pick<std::size_t>(50, 1'000, 1'000),
                       options_.pick<std::size_t>(200, 20'000, 40'000));
    fairness();
    memory();
    report_.finish();
  }

 private:
  std::string new_path() { return fmt::format("{}/{}.db", options_.folder, ++files_); }

  // Two processes on one file, each with messages of its own: the slower one's part.
  void fairness() {
    const std::string name = "fairness-two-processes";
    if (!report_.wanted(name)) return;
    set_running(name);
    std::vector<double> parts, totals, slower;
    for (std::size_t round = 0; round < sizes_.rounds; ++round) {
      const std::string path = new_path();
      const auto place = make_sqlite_place(path);
      place->open().reset();
      const auto [first, second] = run_pair(path, options_.pick(0.3, 1.0, 5.0));
      StoreBench::check_sum(*place, first.sum + second.sum);
      totals.push_back(first.rate + second.rate);
      slower.push_back(std::min(first.rate, second.rate));
      parts.push_back(slower.back() / totals.back());
    }
    report_.add(name, kBatch, median(totals), median(slower), median(parts),
                "raw: both together; semel: the slower one");
  }

  // The program on a file of messages: how much memory it takes at most.
  void memory() {
    const std::string name = "memory-file-mib";
    if (!report_.wanted(name)) return;
    set_running(name);
    const auto bytes = options_.pick<std::size_t>(1'000'000, 50'000'000, 1'000'000'000);
    const std::string path = new_path();
    const auto place = make_sqlite_place(path);
    const FileRun run = run_file(options_.program, options_.folder, path, bytes);
    StoreBench::check_sum(*place, run.sum);
    report_.add(name, kBatch, std::nullopt, run.peak_mib, std::nullopt,
                fmt::format("MiB at most, semel run over {} MB in {:.1f} s", bytes / 1'000'000,
                            run.seconds));
  }

  const Options options_;
  Report report_;
  const Sizes sizes_;
  std::size_t files_ = 0;
  StoreBench stores_;
};

}  // namespace
}  // namespace semel::bench

int main(int argc, char** argv) {
  if (argc > 1 && std::string(argv[1]) == semel::bench::kPairMember) {
    return semel::bench::run_pair_member(argc, argv);
  }
  return semel::bench::run_benchmark(argc, argv, [](const semel::bench::Options& options) {
    semel::bench::SqliteBench(options).run();
  });
}
