#include "tests/support/pooled_database.h"

#include <fmt/format.h>
#include <unistd.h>

#include <exception>
#include <map>
#include <mutex>
#include <stdexcept>
#include <utility>
#include <vector>

#include "tests/support/emptied_mysql.h"
#include "tests/support/emptied_postgres.h"
#include "tests/support/mysql_servers.h"
#include "tests/support/postgres_server.h"

namespace semel::test {
namespace {

// Unused databases, each with its description from before its first test.
class IdleDatabases {
 public:
  using Idle = std::pair<std::string, std::string>;

  static IdleDatabases& of_this_process() {
    static IdleDatabases all;
    return all;
  }

  std::optional<Idle> take(const DatabaseServer& server) {
    const std::scoped_lock lock(mutex_);
    auto& idle = idle_[key_of(server)];
    if (idle.empty()) return std::nullopt;
    Idle taken = std::move(idle.back());
    idle.pop_back();
    return taken;
  }

  void give(const DatabaseServer& server, Idle one) {
    const std::scoped_lock lock(mutex_);
    idle_[key_of(server)].push_back(std::move(one));
  }

 private:
  // A forked process must not use its parent's databases, and a server that starts later at the
  // same port does not have them.
  static std::string key_of(const DatabaseServer& server) {
    return fmt::format("{} {} {}", server.url(""), server.pid(), ::getpid());
  }

  std::mutex mutex_;
  std::map<std::string, std::vector<Idle>> idle_;
};

}  // namespace

PooledDatabase::PooledDatabase(const DatabaseServer& server, Look fill, Look empty)
    : server_(server), empty_(empty) {
  if (auto idle = IdleDatabases::of_this_process().take(server)) {
    name_ = std::move(idle->first);
    pristine_ = std::move(idle->second);
    return;
  }
  name_ = server.new_database();
  pristine_ = fill(server, name_);
}

PooledDatabase::PooledDatabase(const PostgresServer& server)
    : PooledDatabase(server, fill_postgres, empty_postgres) {}

PooledDatabase::PooledDatabase(const MySqlFamilyServer& server)
    : PooledDatabase(server, fill_mysql, empty_mysql) {}

PooledDatabase::~PooledDatabase() {
  try {
    if (empty_(server_, name_) != pristine_) throw std::runtime_error("its tables were altered");
    IdleDatabases::of_this_process().give(server_, {name_, pristine_});
  } catch (const std::exception& e) {
    // Its server drops it at the end, as every other one.
    fmt::print(stderr, "database {} is not used again: {}\n", name_, e.what());
  }
}

}  // namespace semel::test
