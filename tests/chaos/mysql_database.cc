#include "tests/chaos/mysql_database.h"

#include <errmsg.h>
#include <fmt/format.h>
#include <mysql.h>

#include <mutex>
#include <stdexcept>

#include <semel/mysql.h>

namespace semel::test {
namespace {

class MySqlDatabase final : public SqlDatabase {
 public:
  MySqlDatabase(const MySqlFamilyServer& server, int port)
      : name_(server.new_database()),
        socket_(server.socket()),
        url_(server.url(name_)),
        place_(url_) {
    const std::string own = fmt::format(":{}/", server.port());
    if (port != 0) place_.replace(place_.find(own), own.size(), fmt::format(":{}/", port));
  }

  std::string place() const override { return place_; }
  std::unique_ptr<Store> open() const override { return open(url_); }
  std::unique_ptr<Store> open_at_place() const override { return open(place_); }
  Rows rows(const std::string& sql) const override {
    const std::lock_guard lock(mutex_);
    if (connection_) {
      try {
        return run(connection_.get(), sql);
      } catch (const std::runtime_error&) {
        const unsigned error = mysql_errno(connection_.get());
        if (error != CR_SERVER_GONE_ERROR && error != CR_SERVER_LOST) throw;
      }
    }
    // The first one, or the server was started again since.
    connection_.reset(mysql_init(nullptr));
    if (mysql_real_connect(connection_.get(), nullptr, "root", "", name_.c_str(), 0,
                           socket_.c_str(), CLIENT_MULTI_STATEMENTS) == nullptr) {
      throw std::runtime_error(mysql_error(connection_.get()));
    }
    return run(connection_.get(), sql);
  }
  std::string numbering() const override { return "BIGINT AUTO_INCREMENT PRIMARY KEY"; }
  std::string upsert() const override { return "ON DUPLICATE KEY UPDATE n = VALUES(n)"; }
  std::string dead_letters() const override {
    return "SELECT `key`, reason FROM semel_dead_letters";
  }
  std::string other_sessions() const override {
    return "SELECT COUNT(*) FROM information_schema.processlist WHERE db = DATABASE() AND "
           "id <> CONNECTION_ID()";
  }

 private:
  static std::unique_ptr<Store> open(const std::string& url) {
    MySqlOptions options;
    options.url = url;
    auto store = open_mysql(options);
    if (!store) throw std::runtime_error(store.error().message);
    return *std::move(store);
  }
  static Rows run(MYSQL* connection, const std::string& sql) {
    Rows last;
    int more = mysql_real_query(connection, sql.data(), sql.size());
    while (more == 0) {
      last = rows_of(connection);
      more = mysql_next_result(connection);
    }
    if (mysql_errno(connection) != 0) {
      throw std::runtime_error(sql + ": " + mysql_error(connection));
    }
    return last;
  }
  static Rows rows_of(MYSQL* connection) {
    const std::unique_ptr<MYSQL_RES, decltype(&mysql_free_result)> result(
        mysql_store_result(connection), &mysql_free_result);
    Rows rows;
    if (!result) return rows;
    const unsigned columns = mysql_num_fields(result.get());
    while (const MYSQL_ROW row = mysql_fetch_row(result.get())) {
      const unsigned long* const sizes = mysql_fetch_lengths(result.get());
      auto& fields = rows.emplace_back();
      for (unsigned at = 0; at < columns; ++at) {
        fields.push_back(row[at] == nullptr ? std::string() : std::string(row[at], sizes[at]));
      }
    }
    return rows;
  }

  const std::string name_;
  const std::string socket_;
  const std::string url_;
  std::string place_;
  mutable std::mutex mutex_;
  mutable std::unique_ptr<MYSQL, decltype(&mysql_close)> connection_{nullptr, &mysql_close};
};

}  // namespace

std::unique_ptr<Database> make_mysql_database(const MySqlFamilyServer& server, int port) {
  return std::make_unique<MySqlDatabase>(server, port);
}

// After other statements in one packet, or alone in its own. READ COMMITTED matches neither.
const std::vector<std::string>& commit_words() {
  static const std::vector<std::string> words = {"; COMMIT", std::string("\7\0\0\0\3COMMIT", 11)};
  return words;
}

// That it went well, nothing was changed, and no transaction is open any more: AUTOCOMMIT and
// NO_BACKSLASH_ESCAPES are the whole of the session's state.
std::string commit_answer() { return {"\0\0\0\2\2\0\0", 7}; }

}  // namespace semel::test
