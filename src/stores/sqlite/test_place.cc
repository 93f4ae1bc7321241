#include "stores/sqlite/test_place.h"

#include <sqlite3.h>

#include <stdexcept>

namespace semel::sqlite {

std::unique_ptr<Store> SqliteTest::open(const SqliteOptions& options) {
  auto store = open_store(options, clock_);
  EXPECT_TRUE(store.has_value()) << (store ? "" : store.error().message);
  return store ? std::move(*store) : nullptr;
}

Error SqliteTest::open_error(const SqliteOptions& options) {
  auto store = open_store(options, clock_);
  EXPECT_FALSE(store.has_value());
  return store ? Error{} : store.error();
}

ConsumerNumber SqliteTest::attach(Store& store, const std::string& name,
                                  std::optional<milliseconds> ttl) {
  return store.attach({name, "recipe", false, ttl}).value();
}

Claim SqliteTest::claim(Store& store, const Message& message, const ClaimOptions& options) {
  const Message* const one = &message;
  return store.claim({&one, 1}, options).value().at(0);
}

Lease SqliteTest::acquire(Store& store, const Message& message) {
  return std::get<Acquired>(claim(store, message)).lease;
}

std::size_t SqliteTest::complete(Store& store, const std::vector<Message>& messages) {
  auto unit = store.facets().transactional->begin({}).value();
  const auto claims = unit->claim(test::pointers(messages)).value();
  std::vector<Finish> finishes;
  for (const Claim& claim : claims) {
    if (const auto* acquired = std::get_if<Acquired>(&claim)) {
      finishes.push_back(test::completed(acquired->lease));
    }
  }
  const auto applied = unit->finish(finishes).value();
  for (const Applied one : applied) EXPECT_EQ(one, Applied::kYes);
  const auto committed = unit->commit();
  EXPECT_TRUE(committed.has_value()) << (committed ? "" : committed.error().message);
  return finishes.size();
}

std::vector<std::vector<std::string>> SqliteTest::sql(const std::string& text) {
  sqlite3* handle = nullptr;
  std::vector<std::vector<std::string>> rows;
  const auto take = [](void* into, int columns, char** values, char**) {
    auto& row = static_cast<std::vector<std::vector<std::string>>*>(into)->emplace_back();
    for (int i = 0; i < columns; ++i) row.emplace_back(values[i] != nullptr ? values[i] : "NULL");
    return 0;
  };
  sqlite3_open_v2(path_.c_str(), &handle, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, nullptr);
  sqlite3_busy_timeout(handle, 10'000);
  char* said = nullptr;
  const int code = sqlite3_exec(handle, text.c_str(), take, &rows, &said);
  const std::string message = said != nullptr ? said : "";
  sqlite3_free(said);
  sqlite3_close(handle);
  if (code != SQLITE_OK) throw std::runtime_error(text + ": " + message);
  return rows;
}

}  // namespace semel::sqlite
