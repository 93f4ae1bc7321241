// A database in a directory of its own, for the tests of this room.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include <semel/admin/records.h>
#include <semel/spi/held_messages.h>
#include <semel/spi/run_markers.h>
#include <semel/spi/unit_of_work.h>
#include <semel/sqlite.h>

#include "stores/sqlite/store.h"
#include "tests/support/builders.h"
#include "tests/support/temp_dir.h"

namespace semel::sqlite {

using namespace std::chrono_literals;
using std::chrono::milliseconds;

class SqliteTest : public testing::Test {
 protected:
  SqliteOptions options() const {
    SqliteOptions options;
    options.path = path_;
    options.generation_rows = generation_rows_;
    options.vfs = vfs_;
    options.busy = busy_;
    return options;
  }
  std::unique_ptr<Store> open() { return open(options()); }
  std::unique_ptr<Store> open(const SqliteOptions& options);
  Error open_error(const SqliteOptions& options);
  static ConsumerNumber attach(Store& store, const std::string& name = "payments",
                               std::optional<milliseconds> ttl = 24h * 7);

  static Claim claim(Store& store, const Message& message, const ClaimOptions& options = {});
  static Lease acquire(Store& store, const Message& message);
  // Claims and completes in one unit; returns how many were new.
  static std::size_t complete(Store& store, const std::vector<Message>& messages);
  static bool is_completed(Store& store, const Message& message) {
    return std::holds_alternative<Completed>(claim(store, message));
  }
  static OutgoingMessage row(Bytes payload) {
    OutgoingMessage message;
    message.payload = std::move(payload);
    return message;
  }
  static StoreStats stats(Store& store) { return store.facets().records->stats().value(); }

  // As another program would: each call over a connection of its own. Columns as text.
  std::vector<std::vector<std::string>> sql(const std::string& text);
  std::string one(const std::string& text) { return sql(text).at(0).at(0); }

  test::TempDir folder_;
  std::string path_ = folder_.file("store.db");
  std::size_t generation_rows_ = SqliteOptions{}.generation_rows;
  std::string vfs_;
  milliseconds busy_ = 5s;
  std::shared_ptr<MovedStoreClock> clock_ = std::make_shared<MovedStoreClock>();
};

}  // namespace semel::sqlite
