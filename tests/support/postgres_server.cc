#include "tests/support/postgres_server.h"

#include <fmt/format.h>
#include <libpq-fe.h>
#include <sys/shm.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <stdexcept>

namespace semel::test {
namespace {

constexpr const char* kUser = "postgres";

// The folder of the newest server's programs.
std::string programs() {
  std::error_code ignored;
  int newest = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/usr/lib/postgresql", ignored)) {
    if (!std::filesystem::exists(entry.path() / "bin/postgres")) continue;
    newest = std::max(newest, std::atoi(entry.path().filename().c_str()));
  }
  if (newest == 0) throw std::runtime_error("no PostgreSQL below /usr/lib/postgresql");
  return fmt::format("/usr/lib/postgresql/{}/bin", newest);
}

std::string rows_text(const PGresult* result) {
  std::string text;
  for (int row = 0; row < PQntuples(result); ++row) {
    if (row > 0) text += '\n';
    for (int field = 0; field < PQnfields(result); ++field) {
      if (field > 0) text += '|';
      text += PQgetvalue(result, row, field);
    }
  }
  return text;
}

class PostgresSession final : public DatabaseServer::Session {
 public:
  PostgresSession(const std::string& url, const PostgresServer& server)
      : connection_(PQconnectdb(url.c_str()), &PQfinish) {
    if (PQstatus(connection_.get()) == CONNECTION_OK) return;
    throw std::runtime_error(PQerrorMessage(connection_.get()) + server.log_tail());
  }

  std::string query(const std::string& sql) override {
    const std::unique_ptr<PGresult, decltype(&PQclear)> result(
        PQexec(connection_.get(), sql.c_str()), &PQclear);
    const ExecStatusType status = PQresultStatus(result.get());
    if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK) {
      throw std::runtime_error(PQerrorMessage(connection_.get()));
    }
    return rows_text(result.get());
  }

 private:
  const std::unique_ptr<PGconn, decltype(&PQfinish)> connection_;
};

}  // namespace

PostgresServer::Options PostgresServer::fast() {
  return {.settings = {"fsync=off", "full_page_writes=off"}};
}

const PostgresServer& PostgresServer::shared() {
  static const PostgresServer server(find_shared_server("postgres"));
  return server;
}

PostgresServer::PostgresServer() : PostgresServer(Options{}) {}

PostgresServer::PostgresServer(const Options& options)
    : DatabaseServer("postgres", plain_user(kUser), options.keep_pristine), options_(options) {
  start();
}

PostgresServer::PostgresServer(const std::optional<ServerAddress>& found)
    : DatabaseServer("postgres", found, plain_user(kUser)), options_(fast()) {
  if (!found) start();
}

std::string PostgresServer::url(std::string_view database) const {
  return fmt::format("postgresql://{}@127.0.0.1:{}/{}", kUser, port(), database);
}

std::unique_ptr<DatabaseServer::Session> PostgresServer::open_session(
    const std::string& database) const {
  return std::make_unique<PostgresSession>(url(database), *this);
}

int PostgresServer::lock_waiters(const std::string& database) const {
  return std::stoi(query(database,
                         "SELECT count(*) FROM pg_stat_activity WHERE datname = "
                         "current_database() AND wait_event_type = 'Lock'"));
}

std::vector<std::string> PostgresServer::maker() const {
  return {programs() + "/initdb",
          "-D",
          data(),
          "-U",
          kUser,
          "-A",
          "trust",
          "--no-sync",
          "-E",
          "UTF8",
          "--locale=C",
          "--no-instructions"};
}

std::vector<std::string> PostgresServer::server() const {
  std::vector<std::string> arguments = {programs() + "/postgres", "-D", data()};
  std::vector<std::string> settings = {
      "listen_addresses=127.0.0.1",
      fmt::format("port={}", port()),
      "unix_socket_directories=" + socket_dir(),
      "max_connections=200",
      "shared_buffers=64MB",
      // The other kinds would stay in the machine's memory when the server is killed.
      "dynamic_shared_memory_type=mmap",
  };
  settings.insert(settings.end(), options_.settings.begin(), options_.settings.end());
  for (std::string& setting : settings) {
    arguments.emplace_back("-c");
    arguments.push_back(std::move(setting));
  }
  return arguments;
}

bool PostgresServer::answers() const {
  // Uses the socket: another server may be at the port.
  const std::string place =
      fmt::format("host={} port={} user={} dbname=postgres", socket_dir(), port(), kUser);
  return PQping(place.c_str()) == PQPING_OK;
}

void PostgresServer::after_kill() {
  // Removes the shared memory that distinguishes it from a running server, as a crash of the
  // machine does. A line of its lock file has key and number.
  std::ifstream file(data() + "/postmaster.pid");
  std::string line;
  constexpr int kLine = 7;
  for (int i = 0; i < kLine; ++i) std::getline(file, line);
  std::istringstream words(line);
  unsigned long key = 0;
  int number = 0;
  if (words >> key >> number) ::shmctl(number, IPC_RMID, nullptr);
}

}  // namespace semel::test
