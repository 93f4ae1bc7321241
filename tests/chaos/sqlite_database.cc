#include <sqlite3.h>

#include <stdexcept>

#include <semel/sqlite.h>

#include "tests/chaos/database.h"

namespace semel::test {
namespace {

class SqliteDatabase final : public SqlDatabase {
 public:
  explicit SqliteDatabase(std::string path) : path_(std::move(path)) {}

  std::string place() const override { return path_; }
  std::unique_ptr<Store> open() const override {
    SqliteOptions options;
    options.path = path_;
    options.checkpoints = false;
    auto store = open_sqlite(options);
    if (!store) throw std::runtime_error(store.error().message);
    return *std::move(store);
  }
  Rows rows(const std::string& sql) const override {
    const Opened db(path_);
    Rows rows;
    const auto take = [](void* into, int n, char** values, char**) {
      std::vector<std::string> row;
      for (int i = 0; i < n; ++i) row.emplace_back(values[i] == nullptr ? "" : values[i]);
      static_cast<Rows*>(into)->push_back(std::move(row));
      return 0;
    };
    char* error = nullptr;
    if (sqlite3_exec(db.get(), sql.c_str(), take, &rows, &error) != SQLITE_OK) {
      const std::string what = sql + ": " + (error != nullptr ? error : "?");
      sqlite3_free(error);
      throw std::runtime_error(what);
    }
    return rows;
  }
  // Its completed records are in separate tables.
  std::size_t completed() const override {
    std::size_t completed = 0;
    for (const auto& row : rows("SELECT number FROM semel_generation")) {
      completed += std::stoul(rows("SELECT count(*) FROM semel_completed_" + row[0])[0][0]);
    }
    return completed;
  }
  std::string numbering() const override { return "INTEGER PRIMARY KEY AUTOINCREMENT"; }
  std::string dead_letters() const override { return "SELECT key, reason FROM semel_dead_letter"; }

 private:
  class Opened {
   public:
    explicit Opened(const std::string& path) {
      if (sqlite3_open_v2(path.c_str(), &db_, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE,
                          nullptr) != SQLITE_OK) {
        throw std::runtime_error("cannot open " + path);
      }
      sqlite3_busy_timeout(db_, 20'000);
    }
    ~Opened() { sqlite3_close(db_); }
    Opened(const Opened&) = delete;
    Opened& operator=(const Opened&) = delete;
    sqlite3* get() const noexcept { return db_; }

   private:
    sqlite3* db_ = nullptr;
  };

  const std::string path_;
};

}  // namespace

std::unique_ptr<Database> make_database(const TempDir& folder) {
  return std::make_unique<SqliteDatabase>(folder.file("chaos.db"));
}

std::size_t share_of_rounds() { return 1; }

std::optional<std::size_t> half_of_matrix() { return std::nullopt; }

bool has_tables() { return true; }

bool has_steps() { return false; }

}  // namespace semel::test
