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
        sizes_{options.quick ? 3U : 5U, options.quick ? 30'000U : 200'000U,
               options.quick ? 1'500U : 20'000U, kHotRows},
        stores_(report_, sizes_, [this] { return make_sqlite_place(new_path()); }) {}

  int run() {
    std::vector<std::string> lines = machine(options_.folder);
    lines.push_back(
        fmt::format("Semel {}, SQLite {}; WAL, synchronous=FULL, 32 MiB of cache each; {} byte "
                    "messages, {} hot rows, {} rounds of {} (naive: {})",
                    version(), sqlite3_libversion(), kPayload, kHotRows, sizes_.rounds, sizes_.many,
                    sizes_.few));
    report_.header(lines);
    stores_.fresh();
    constexpr std::size_t kThere = 1'500'000;
    stores_.preloaded("effects-preloaded", options_.preload.value_or(kThere), Keys::kRandom);
    stores_.latency();
    fairness();
    memory();
    report_.finish();
    return 0;
  }

 private:
  std::string new_path() { return fmt::format("{}/{}.db", options_.folder, ++files_); }

  // Two processes on one file, each with messages of its own: the slower one's part.
  void fairness() {
    const std::string name = "fairness-two-processes";
    if (!report_.wanted(name)) return;
    std::vector<double> parts, totals, slower;
    for (std::size_t round = 0; round < sizes_.rounds; ++round) {
      const std::string path = new_path();
      const auto place = make_sqlite_place(path);
      place->open().reset();
      const auto [first, second] = run_pair(path, options_.quick ? 1 : 5);
      totals.push_back(first + second);
      slower.push_back(std::min(first, second));
      parts.push_back(slower.back() / totals.back());
    }
    report_.add(name, kBatch, median(totals), median(slower), median(parts),
                "raw: both together; semel: the slower one");
  }

  // The program on a file of messages: how much memory it takes at most.
  void memory() {
    const std::string name = "memory-file-mib";
    if (!report_.wanted(name)) return;
    const std::size_t bytes = options_.quick ? 50'000'000 : 1'000'000'000;
    const std::string path = new_path();
    const auto place = make_sqlite_place(path);
    const FileRun run = run_file(options_.program, options_.folder, path, bytes);
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
  return semel::bench::SqliteBench(semel::bench::parse_options(argc, argv)).run();
}
