// The SQL functions in a client's loop: a claim for each message, and one for a batch of them,
// against an INSERT that finds duplicates, written by hand. No library of ours is in the client.
#include <fmt/format.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <semel/version.h>

#include "benchmarks/functions_loop.h"
#include "benchmarks/measure.h"
#include "benchmarks/report.h"
#include "benchmarks/server_place.h"
#include "benchmarks/store_bench.h"
#include "benchmarks/workload.h"

namespace semel::bench {
namespace {

using MakeLoop = std::function<std::unique_ptr<FunctionsLoop>()>;

class FunctionsBench {
 public:
  explicit FunctionsBench(const Options& options)
      : options_(options),
        report_(options),
        rounds_(options.pick<std::size_t>(1, 3, 7)),
        single_(options.pick<std::size_t>(100, 2'000, 20'000)),
        many_(options.pick<std::size_t>(300, 20'000, 200'000)) {}

  void run() {
    report_.header({fmt::format(
        "Semel {}; {} byte messages, {} rounds of {} one by one, or {} in batches of {}", version(),
        kPayload, rounds_, single_, many_, kBatch)});
    {
      const test::PostgresServer server(postgres_options(options_));
      measure("postgres", [&] { return make_postgres_loop(server); });
    }
    auto options = test::MySqlFamilyServer::fast();
    if (!options_.smoke()) {
      options.arguments = {"--innodb-buffer-pool-size=1G", "--innodb-log-file-size=1G"};
    }
    const test::MariaDbServer server(options);
    measure("mariadb", [&] { return make_mysql_loop(server); });
    report_.finish();
  }

 private:
  void measure(const std::string& server, const MakeLoop& make) {
    Case one;
    one.name = server + "-claim";
    one.batch = 1;
    one.what = "BEGIN, claim, UPDATE, COMMIT; raw: INSERT … ON CONFLICT, semel: claim";
    one.raw = [&] { return side(make, ClaimedBy::kInsert, single_, 1); };
    one.semel = [&] { return side(make, ClaimedBy::kClaim, single_, 1); };
    run_case(one);
    one.name = server + "-bare-function";
    one.what = "raw: as above, semel: a function of the kind of claim with the INSERT alone";
    one.semel = [&] { return side(make, ClaimedBy::kBareFunction, single_, 1); };
    run_case(one);
    one.name = server + "-claim-many";
    one.batch = kBatch;
    one.what = "raw: an INSERT for each in one transaction, naive: one by one, semel: claim_many";
    one.raw = [&] { return side(make, ClaimedBy::kInsert, many_, kBatch); };
    one.naive = [&] { return side(make, ClaimedBy::kInsert, single_, 1); };
    one.semel = [&] { return side(make, ClaimedBy::kClaimMany, many_, kBatch); };
    run_case(one);
  }
  void run_case(const Case& one) {
    if (report_.wanted(one.name)) report_.run(one, rounds_);
  }
  double side(const MakeLoop& make, ClaimedBy how, std::size_t count, std::size_t batch) {
    const auto loop = make();
    const auto payloads = make_payloads(count, Keys::kOrdered, ++seed_);
    const Stopwatch watch;
    const std::size_t fresh = loop->consume(payloads, how, batch);
    const double rate = static_cast<double>(count) / watch.seconds();
    check_count(fresh, count, "keys were new");
    if (options_.smoke())
      check_count(loop->consume(payloads, how, batch), 0, "keys were new again");
    StoreBench::check_sum(loop->place(), payloads);
    return rate;
  }

  const Options options_;
  Report report_;
  const std::size_t rounds_;
  const std::size_t single_;
  const std::size_t many_;
  std::uint64_t seed_ = 0;
};

}  // namespace
}  // namespace semel::bench

int main(int argc, char** argv) {
  return semel::bench::run_benchmark(argc, argv, [](const semel::bench::Options& options) {
    semel::bench::FunctionsBench(options).run();
  });
}
