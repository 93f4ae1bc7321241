// A database of its own on a real server, for the tests of this room.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <semel/admin/gates.h>
#include <semel/admin/records.h>
#include <semel/spi/held_messages.h>
#include <semel/spi/run_markers.h>

#include "stores/postgres/store.h"
#include "tests/support/builders.h"
#include "tests/support/postgres_server.h"

namespace semel::postgres {

using namespace std::chrono_literals;
using std::chrono::milliseconds;

class PostgresTest : public testing::Test {
 protected:
  std::unique_ptr<Store> open() const {
    PostgresOptions options;
    options.url = server_.url(database_);
    InnerOptions inner;
    inner.grace = milliseconds(0);
    auto store = open_store(std::move(options), inner);
    EXPECT_TRUE(store.has_value()) << (store ? "" : store.error().message);
    return store ? std::move(*store) : nullptr;
  }
  static ConsumerNumber attach(Store& store, const std::string& name = "payments",
                               std::optional<milliseconds> ttl = 24h * 7) {
    return store.attach({name, "recipe", false, ttl}).value();
  }
  static Lease acquire(Store& store, const Message& message) {
    const Message* const one = &message;
    const auto claims = store.claim({&one, 1}, {});
    EXPECT_TRUE(claims.has_value()) << claims.error().message;
    return std::get<Acquired>(claims->at(0)).lease;
  }
  static void finish(Store& store, const Finish& finish) {
    const auto applied = store.finish({&finish, 1});
    ASSERT_TRUE(applied.has_value()) << applied.error().message;
    ASSERT_EQ(applied->at(0), Applied::kYes);
  }
  // Formats rows as psql would: fields with a "|" between them, rows with a "\n".
  std::string sql(const std::string& text) const { return server_.query(database_, text); }

  // Runs `work` on this many threads concurrently.
  static void together(int threads, const std::function<void(int)>& work) {
    std::vector<std::thread> running;
    for (int i = 0; i < threads; ++i) running.emplace_back(work, i);
    for (std::thread& thread : running) thread.join();
  }

  const test::PostgresServer& server_ = test::PostgresServer::shared();
  const std::string database_ = server_.new_database();
};

}  // namespace semel::postgres
