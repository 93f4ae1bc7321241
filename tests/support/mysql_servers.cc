#include "tests/support/mysql_servers.h"

#include <fmt/format.h>
#include <mysql.h>
#include <unistd.h>

#include <cstdlib>
#include <iterator>
#include <memory>
#include <regex>
#include <set>
#include <sstream>
#include <stdexcept>

namespace semel::test {
namespace {

using Connection = std::unique_ptr<MYSQL, decltype(&mysql_close)>;

constexpr const char* kDsn = "SEMEL_TEST_MYSQL_DSN";

const char* dsn() {
  const char* given = std::getenv(kDsn);
  return given != nullptr && *given != '\0' ? given : nullptr;
}

Connection make_connection() {
  [[maybe_unused]] static const int ready = mysql_library_init(0, nullptr, nullptr);
  return {mysql_init(nullptr), &mysql_close};
}

struct Account {
  std::string user;
  std::string password;
  std::string host;
  unsigned port = 0;
  std::string database;
};

std::string decoded(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size()) {
      plain += static_cast<char>(std::stoi(std::string(text.substr(i + 1, 2)), nullptr, 16));
      i += 2;
    } else {
      plain += text[i];
    }
  }
  return plain;
}

// Removes and returns the text before the mark, and removes the mark; all of it if there is no
// mark.
std::string cut_before(std::string_view& text, char mark) {
  const auto at = std::min(text.find(mark), text.size());
  std::string first = decoded(text.substr(0, at));
  text.remove_prefix(std::min(at + 1, text.size()));
  return first;
}

// mysql://user:password@host:port/database
Account parse(const std::string& url) {
  constexpr std::string_view kScheme = "mysql://";
  const auto account_end = url.rfind('@');
  if (!url.starts_with(kScheme) || account_end == std::string::npos) {
    throw std::runtime_error("not mysql://user:password@host:port: " + url);
  }
  auto account = std::string_view(url).substr(kScheme.size(), account_end - kScheme.size());
  auto place = std::string_view(url).substr(account_end + 1);
  Account parsed;
  parsed.user = cut_before(account, ':');
  parsed.password = decoded(account);
  auto server = cut_before(place, '/');
  parsed.database = decoded(place);
  std::string_view rest(server);
  parsed.host = cut_before(rest, ':');
  constexpr unsigned kUsualPort = 3306;
  parsed.port = rest.empty() ? kUsualPort : static_cast<unsigned>(std::stoul(std::string(rest)));
  return parsed;
}

std::string result_text(MYSQL_RES* result) {
  std::string text;
  const unsigned fields = mysql_num_fields(result);
  while (const MYSQL_ROW row = mysql_fetch_row(result)) {
    const auto* lengths = mysql_fetch_lengths(result);
    if (!text.empty()) text += '\n';
    for (unsigned field = 0; field < fields; ++field) {
      if (field > 0) text += '|';
      if (row[field] != nullptr) text.append(row[field], lengths[field]);
    }
  }
  return text;
}

class MySqlSession final : public DatabaseServer::Session {
 public:
  MySqlSession(const Account& account, const MySqlFamilyServer& server)
      : connection_(make_connection()) {
    if (mysql_real_connect(connection_.get(), account.host.c_str(), account.user.c_str(),
                           account.password.c_str(), account.database.c_str(), account.port,
                           nullptr, CLIENT_MULTI_STATEMENTS) != nullptr) {
      return;
    }
    throw std::runtime_error(
        fmt::format("{}\n{}", mysql_error(connection_.get()), server.log_tail()));
  }

  std::string query(const std::string& sql) override {
    MYSQL* const handle = connection_.get();
    std::string last;
    int more = mysql_real_query(handle, sql.data(), sql.size());
    while (more == 0) {
      const std::unique_ptr<MYSQL_RES, decltype(&mysql_free_result)> result(
          mysql_store_result(handle), &mysql_free_result);
      last = result ? result_text(result.get()) : "";
      more = mysql_next_result(handle);
    }
    if (mysql_errno(handle) != 0) throw std::runtime_error(mysql_error(handle));
    return last;
  }

 private:
  const Connection connection_;
};

std::string mysql8_home() {
  if (const auto why = MySqlServer::why_absent()) throw std::runtime_error(*why);
  return SEMEL_TEST_MYSQL8;
}

// For MySQL 8. Its folder may be accessible only to the user who fetched it: so that user runs it.
std::vector<std::string> as_its_user() {
  if (::geteuid() == 0) return {"--user=root"};
  return {};
}

}  // namespace

MySqlFamilyServer::Options MySqlFamilyServer::fast() {
  return {
      .arguments = {"--innodb-flush-log-at-trx-commit=2", "--skip-innodb-doublewrite",
                    "--innodb-flush-method=nosync",
                    // MariaDB syncs its log of DDL and its folders hundreds of times for the tables
                    // of one store. MySQL does not know the option.
                    "--loose-debug-no-sync",
                    // A file for each table is most of what it costs to make, truncate or drop one.
                    "--innodb-file-per-table=0"}};
}

MySqlFamilyServer::MySqlFamilyServer(std::string name, PlainUser user, Options options)
    : DatabaseServer(std::move(name), user, options.keep_pristine), options_(std::move(options)) {}

MySqlFamilyServer::MySqlFamilyServer(std::string name, const std::optional<ServerAddress>& found,
                                     PlainUser user)
    : DatabaseServer(std::move(name), found, user), options_(fast()) {}

std::string MySqlFamilyServer::url(std::string_view database) const {
  return fmt::format("mysql://root@127.0.0.1:{}/{}", port(), database);
}

// Counts sessions that are within a statement and whose transaction does not run. MySQL 8's list of
// lock waits omits a transaction that waits before its first write. information_schema.innodb_trx
// has it, but caches an answer until it was not queried for a while: two tests that ask alternately
// would see an old answer forever.
int MySqlFamilyServer::lock_waiters(const std::string& database) const {
  std::istringstream sessions(
      query(database,
            "SELECT id FROM information_schema.processlist WHERE db = DATABASE() AND command = "
            "'Query' AND id <> CONNECTION_ID()"));
  std::set<std::string> waiting{std::istream_iterator<std::string>(sessions), {}};
  const std::string state = query(database, "SHOW ENGINE INNODB STATUS");
  const std::string_view begin = "---TRANSACTION ";
  const std::regex thread_id(" thread id ([0-9]+),");
  for (std::size_t at = state.find(begin); at != std::string::npos;) {
    const std::size_t next = state.find(begin, at + 1);
    const std::string one = state.substr(at, next - at);
    std::smatch thread;
    if (one.find("\nLOCK WAIT ") == std::string::npos &&
        std::regex_search(one, thread, thread_id)) {
      waiting.erase(thread.str(1));
    }
    at = next;
  }
  return static_cast<int>(waiting.size());
}

std::unique_ptr<DatabaseServer::Session> MySqlFamilyServer::open_session(
    const std::string& database) const {
  return std::make_unique<MySqlSession>(parse(url(database)), *this);
}

std::vector<std::string> MySqlFamilyServer::arguments() const {
  std::vector<std::string> all = {
      "--datadir=" + data(),
      "--socket=" + socket(),
      "--pid-file=" + folder() + "/pid",
      fmt::format("--port={}", port()),
      "--bind-address=127.0.0.1",
      "--character-set-server=utf8mb4",
      "--max-connections=200",
      "--innodb-buffer-pool-size=64M",
      "--performance-schema=0",
      // The kernel gives asynchronous I/O to a limited number of servers of a machine, and a killed
      // server's share returns late: the next start would fail.
      "--innodb-use-native-aio=0",
      "--skip-log-bin",
  };
  all.insert(all.end(), options_.arguments.begin(), options_.arguments.end());
  return all;
}

bool MySqlFamilyServer::answers() const {
  // Uses the socket: another server may be at the port.
  const Connection connection = make_connection();
  return mysql_real_connect(connection.get(), nullptr, "root", "", nullptr, 0, socket().c_str(),
                            0) != nullptr;
}

const MariaDbServer& MariaDbServer::shared() {
  static const MariaDbServer server(find_shared_server("mariadb"));
  return server;
}

MariaDbServer::MariaDbServer(Options options)
    : MySqlFamilyServer("mariadb", plain_user("mysql"), std::move(options)) {
  start();
}

MariaDbServer::MariaDbServer(const std::optional<ServerAddress>& found)
    : MySqlFamilyServer("mariadb", found, plain_user("mysql")) {
  if (!found) start();
}

std::vector<std::string> MariaDbServer::maker() const {
  return {"/usr/bin/mariadb-install-db",
          "--no-defaults",
          "--datadir=" + data(),
          "--auth-root-authentication-method=normal",
          "--skip-test-db",
          "--innodb-log-file-size=16M"};
}

std::vector<std::string> MariaDbServer::server() const {
  std::vector<std::string> all = {"/usr/sbin/mariadbd", "--no-defaults", "--skip-name-resolve",
                                  "--innodb-log-file-size=16M"};
  for (std::string& argument : arguments()) all.push_back(std::move(argument));
  return all;
}

std::optional<std::string> MySqlServer::why_absent() {
  const std::string why = SEMEL_TEST_MYSQL8_ABSENT;
  if (why.empty() || dsn() != nullptr) return std::nullopt;
  return why;
}

const MySqlServer& MySqlServer::shared() {
  static const MySqlServer server(dsn() != nullptr ? ServerAddress{}
                                                   : find_shared_server("mysql8"));
  return server;
}

MySqlServer::MySqlServer(Options options) : MySqlFamilyServer("mysql8", {}, std::move(options)) {
  start();
}

MySqlServer::MySqlServer(const std::optional<ServerAddress>& found)
    : MySqlFamilyServer("mysql8", found, {}) {
  if (!found) start();
}

std::string MySqlServer::url(std::string_view database) const {
  if (port() == 0) return fmt::format("{}/{}", dsn(), database);
  return MySqlFamilyServer::url(database);
}

std::vector<std::string> MySqlServer::maker() const {
  return {"/bin/cp", "-r", mysql8_home() + "/pristine", data()};
}

std::vector<std::string> MySqlServer::server() const {
  const std::string home = mysql8_home();
  std::vector<std::string> all = {
      home + "/bin/mysqld", "--no-defaults",
      "--basedir=" + home,  "--lc-messages-dir=" + home + "/share/english",
      "--mysqlx=0",         "--innodb-log-file-size=4M"};
  for (auto& more : {as_its_user(), arguments()}) all.insert(all.end(), more.begin(), more.end());
  return all;
}

std::vector<SharedMySqlServer> shared_mysql_servers() {
  std::vector<SharedMySqlServer> all = {
      []() -> const MySqlFamilyServer& { return MariaDbServer::shared(); }};
  if (MySqlServer::why_absent()) return all;
  all.push_back([]() -> const MySqlFamilyServer& { return MySqlServer::shared(); });
  return all;
}

}  // namespace semel::test
