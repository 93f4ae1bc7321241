// MariaDB: records and effects against what is written by hand, in the same run.
#include <fmt/format.h>

#include "benchmarks/server_bench.h"
#include "benchmarks/server_place.h"

int main(int argc, char** argv) {
  using namespace semel;
  const bench::Options options = bench::parse_options(argc, argv);
  test::MySqlFamilyServer::Options server_options;
  server_options.arguments = {"--innodb-buffer-pool-size=1G", "--innodb-log-file-size=1G"};
  const test::MariaDbServer server(server_options);
  const auto said = [&](const char* setting) {
    return server.query("mysql", fmt::format("SELECT @@{}", setting));
  };
  bench::ServerBench(options,
                     [&](std::size_t rows) { return bench::make_mysql_place(server, rows); })
      .run(fmt::format("MariaDB {}; innodb_flush_log_at_trx_commit={}, innodb_doublewrite={}, "
                       "innodb_buffer_pool_size={}",
                       said("version"), said("innodb_flush_log_at_trx_commit"),
                       said("innodb_doublewrite"), said("innodb_buffer_pool_size")));
}
