// PostgreSQL: records and effects against what is written by hand, in the same run.
#include <fmt/format.h>

#include "benchmarks/server_bench.h"
#include "benchmarks/server_place.h"

int main(int argc, char** argv) {
  using namespace semel;
  const bench::Options options = bench::parse_options(argc, argv);
  test::PostgresServer::Options server_options;
  server_options.settings = {"shared_buffers=1GB", "max_wal_size=8GB"};
  const test::PostgresServer server(server_options);
  const auto said = [&](const char* setting) {
    return server.query("postgres", fmt::format("SHOW {}", setting));
  };
  bench::ServerBench(options,
                     [&](std::size_t rows) { return bench::make_postgres_place(server, rows); })
      .run(fmt::format("PostgreSQL {}; synchronous_commit={}, fsync={}, full_page_writes={}, "
                       "shared_buffers={}",
                       said("server_version"), said("synchronous_commit"), said("fsync"),
                       said("full_page_writes"), said("shared_buffers")));
}
