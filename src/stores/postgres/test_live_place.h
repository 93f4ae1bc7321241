// A database on a real server whose clock a test moves, with stores opened on it as several
// processes would open them.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <semel/spi/unit_of_work.h>

#include "stores/postgres/pq.h"
#include "stores/postgres/store.h"
#include "tests/support/builders.h"
#include "tests/support/finish_one.h"
#include "tests/support/postgres_server.h"
#include "tests/support/test_environment.h"

namespace semel::postgres {

using namespace std::chrono_literals;
using std::chrono::milliseconds;

class LiveTest : public testing::Test {
 protected:
  // A purge seals a generation when its age is this much less than its ttl.
  static constexpr milliseconds kTtl = 80min;
  static constexpr milliseconds kRoll = 11min;
  static constexpr milliseconds kLease = 24h * 365;

  LiveTest() {
    sql("CREATE TABLE moved (by interval NOT NULL)");
    sql("INSERT INTO moved VALUES ('0')");
  }

  std::unique_ptr<Store> open(milliseconds busy = 5s) {
    PostgresOptions options;
    options.url = url();
    options.busy = busy;
    options.environment = &environment_;
    InnerOptions inner;
    inner.clock = "(clock_timestamp() + (SELECT by FROM public.moved))";
    inner.grace = milliseconds(0);
    auto store = open_store(std::move(options), inner);
    EXPECT_TRUE(store.has_value()) << (store ? "" : store.error().message);
    return store ? std::move(*store) : nullptr;
  }
  std::string url() const { return server_.url(database_); }
  static ConsumerNumber attach(Store& store, std::optional<milliseconds> ttl = kTtl) {
    const auto number = store.attach({"payments", "recipe", false, ttl});
    EXPECT_TRUE(number.has_value()) << (number ? "" : number.error().message);
    return number.value_or(ConsumerNumber{});
  }
  void advance(milliseconds by) {
    sql("UPDATE moved SET by = by + interval '" + std::to_string(by.count()) + " milliseconds'");
    clock_.advance(by);
  }
  // A session of another program.
  class OtherSession {
   public:
    explicit OtherSession(const std::string& url);
    ~OtherSession();
    OtherSession(const OtherSession&) = delete;
    OtherSession& operator=(const OtherSession&) = delete;
    void run(const std::string& sql);

   private:
    PGconn* connection_;
  };

  // Formats rows as psql would: fields with a "|" between them, rows with a "\n".
  std::string sql(const std::string& text) const { return server_.query(database_, text); }

  static Claim claim(Store& store, const Message& message) {
    const Message* const one = &message;
    auto claims = store.claim({&one, 1}, {kLease, {}, false});
    EXPECT_TRUE(claims.has_value()) << claims.error().message;
    return claims ? std::move(claims->front()) : Claim(Busy{});
  }
  static Applied finish(Store& store, const Finish& finish) {
    return test::finish_one(store, finish);
  }
  // A unit that has claimed this one message.
  struct Held {
    std::unique_ptr<UnitOfWork> unit;
    Claim claim;
    void complete() {
      const Finish done = test::completed(std::get<Acquired>(claim).lease);
      const auto applied = unit->finish({&done, 1});
      ASSERT_TRUE(applied.has_value()) << applied.error().message;
      const auto committed = unit->commit();
      ASSERT_TRUE(committed.has_value()) << committed.error().message;
      unit.reset();
    }
  };
  // Begins again where the store asks for it, as the strategies do.
  static Held claim_in_unit(Store& store, const Message& message, milliseconds patience = 5s) {
    UnitOptions options;
    options.patience = patience;
    const Message* const one = &message;
    for (int tries = 1;; ++tries) {
      auto unit = store.facets().transactional->begin(options).value();
      auto claims = unit->claim({&one, 1});
      if (claims) return {std::move(unit), std::move(claims->front())};
      const ErrorKind kind = claims.error().kind;
      const bool passing = kind == ErrorKind::kRetryTransaction || kind == ErrorKind::kUnavailable;
      const bool again = passing && tries < 4;
      EXPECT_TRUE(again) << claims.error().message;
      if (!again) return {nullptr, Busy{}};
    }
  }
  template <class T>
  static bool is(const Claim& claim) {
    return std::holds_alternative<T>(claim);
  }

  const test::PostgresServer& server_ = test::PostgresServer::shared();
  const std::string database_ = server_.new_database();
  test::PassingClock clock_;
  Environment environment_{&clock_, system_environment().random, system_environment().failpoints};
};

}  // namespace semel::postgres
