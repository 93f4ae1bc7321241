// MariaDB: records and effects against what is written by hand, in the same run.
#include <fmt/format.h>

#include "benchmarks/server_bench.h"
#include "benchmarks/server_place.h"

namespace semel::bench {
namespace {

void run_mariadb(const Options& options) {
  auto server_options = test::MySqlFamilyServer::fast();
  if (!options.smoke()) {
    server_options.arguments = {"--innodb-buffer-pool-size=1G", "--innodb-log-file-size=1G"};
  }
  const test::MariaDbServer server(server_options);
  const auto said = [&](const char* setting) {
    return server.query("mysql", fmt::format("SELECT @@{}", setting));
  };
  ServerBench(options, [&](std::size_t rows) { return make_mysql_place(server, rows); })
      .run(fmt::format("MariaDB {}; innodb_flush_log_at_trx_commit={}, innodb_doublewrite={}, "
                       "innodb_buffer_pool_size={}",
                       said("version"), said("innodb_flush_log_at_trx_commit"),
                       said("innodb_doublewrite"), said("innodb_buffer_pool_size")));
}

}  // namespace
}  // namespace semel::bench

int main(int argc, char** argv) {
  return semel::bench::run_benchmark(argc, argv, semel::bench::run_mariadb);
}
