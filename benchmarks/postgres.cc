// PostgreSQL: records and effects against what is written by hand, in the same run.
#include <fmt/format.h>

#include "benchmarks/server_bench.h"
#include "benchmarks/server_place.h"

namespace semel::bench {
namespace {

void run_postgres(const Options& options) {
  const test::PostgresServer server(postgres_options(options));
  const auto said = [&](const char* setting) {
    return server.query("postgres", fmt::format("SHOW {}", setting));
  };
  ServerBench(options, [&](std::size_t rows) { return make_postgres_place(server, rows); })
      .run(fmt::format("PostgreSQL {}; synchronous_commit={}, fsync={}, full_page_writes={}, "
                       "shared_buffers={}",
                       said("server_version"), said("synchronous_commit"), said("fsync"),
                       said("full_page_writes"), said("shared_buffers")));
}

}  // namespace
}  // namespace semel::bench

int main(int argc, char** argv) {
  return semel::bench::run_benchmark(argc, argv, semel::bench::run_postgres);
}
