// Messages that a SQL client publishes in its own transaction.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <poll.h>

#include <semel/spi/held_messages.h>

#include "core/guard_recipe.h"
#include "stores/postgres/test_functions.h"

namespace semel::postgres {
namespace {

constexpr std::size_t kManyMessages = 10;
constexpr std::size_t kManyBytes = 1 << 20;

class FunctionsQueue : public FunctionsTest {
 protected:
  // The messages that a runner of the consumer would take.
  std::vector<Arrival> taken() {
    auto rows = held().take(consumer_, kManyMessages, kManyBytes, 1h);
    EXPECT_TRUE(rows.has_value()) << rows.error().message;
    return rows ? std::move(*rows) : std::vector<Arrival>();
  }
  HeldMessages& held() { return *store_->facets().held; }
  void publish(std::string_view arguments) {
    client_.ask(fmt::format("SELECT semel.publish('payments', {})", arguments));
  }
  std::string row_of(std::string_view column) const {
    return sql(fmt::format("SELECT {} FROM semel.semel_held", column));
  }
};

TEST_F(FunctionsQueue, AMessageComesAndGoesWithItsTransaction) {
  client_.ask("BEGIN");
  publish("'lost'");
  client_.ask("ROLLBACK");
  client_.ask("BEGIN");
  EXPECT_EQ(claimed(client_, "order-1"), "new");
  publish("'kept'");
  EXPECT_TRUE(taken().empty()) << "it is not committed";
  client_.ask("COMMIT");
  const auto rows = taken();
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows.front().payload, "kept");
  EXPECT_FALSE(rows.front().key.has_value()) << "the consumer's recipe finds it";
}

TEST_F(FunctionsQueue, ARowIsThatOfTheStore) {
  OutgoingMessage message;
  message.payload = R"({"text":"back\slash"})";
  message.headers = {{"a", ""}, {"bb", "Grüße, 1:2"}};
  message.content_type = "application/json";
  message.type = "mail.v1";
  message.key = "order-17";
  message.delay = 0ms;
  const OutgoingMessage bare;
  for (const OutgoingMessage& one : {message, bare}) {
    ASSERT_TRUE(held().append(consumer_, {&one, 1}).has_value());
  }
  publish(R"('{"text":"back\slash"}', 'order-17', '{"a": "", "bb": "Grüße, 1:2"}',)"
          " 'application/json', 'mail.v1', '0'");
  publish("''");
  EXPECT_EQ(sql("SELECT count(DISTINCT to_jsonb(h) - '{row_id, due_at, ready_at, enqueued_at}'"
                "::text[]), count(*) FROM semel.semel_held AS h"),
            "2|4");
  EXPECT_EQ(row_of("due_at = ready_at AND due_at = to_timestamp(0)"), "t\nt\nt\nt");
  const auto rows = taken();
  ASSERT_EQ(rows.size(), 4U);
  EXPECT_EQ(rows[2].payload, message.payload);
  EXPECT_EQ(rows[2].key, message.key);
  EXPECT_EQ(rows[2].type, message.type);
  EXPECT_EQ(rows[2].content_type, message.content_type);
  ASSERT_EQ(rows[2].headers.size(), 2U);
  EXPECT_EQ(rows[2].headers[1].name, "bb");
  EXPECT_EQ(rows[2].headers[1].value, "Grüße, 1:2");
  EXPECT_EQ(rows[3].payload, "");
}

TEST_F(FunctionsQueue, AMessageThatIsDueLaterWaits) {
  publish("'later', delay => '1 hour'");
  publish("'never in a life', delay => '7990 years'");
  publish("'bytes'::bytea, 'k', delay => '-1 hour'");
  EXPECT_EQ(sql("SELECT due_at AT TIME ZONE 'UTC' FROM semel.semel_held ORDER BY due_at DESC "
                "LIMIT 1"),
            "9999-12-29 23:59:59.999")
      << "before rows that are due never";
  auto rows = taken();
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows.front().payload, "bytes");
  EXPECT_EQ(rows.front().key, "k");
  advance(2h);
  rows = taken();
  ASSERT_EQ(rows.size(), 2U) << "the one in hand shows again, it is not settled";
  EXPECT_EQ(held().depth(consumer_)->rows, 3U);
}

TEST_F(FunctionsQueue, AMessageWithoutADelayIsDueThoughTheClockIsSetBack) {
  publish("'first'");
  advance(-10s);
  publish("'second', delay => '0'");
  const auto rows = taken();
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].payload, "first");
  EXPECT_EQ(rows[1].payload, "second");
}

TEST_F(FunctionsQueue, WhoWaitsForMessagesHearsOfIt) {
  pollfd waiting{held().wake_fd(consumer_), POLLIN, 0};
  ASSERT_GE(waiting.fd, 0);
  EXPECT_TRUE(taken().empty()) << "drains what rang before";
  publish("'news'");
  constexpr int kPatience = 60'000;
  EXPECT_EQ(::poll(&waiting, 1, kPatience), 1);
  EXPECT_EQ(taken().size(), 1U);
}

TEST_F(FunctionsQueue, BadInputIsRefusedWithOurCodeAndAHint) {
  ASSERT_TRUE(store_->attach({"only_called", std::string(core::kGuardRecipe), false, kTtl}));
  const std::pair<const char*, const char*> calls[] = {
      {"'payments', NULL::text", "SM271"},
      {"'payments', NULL::bytea", "SM271"},
      {"'payments', 'm', ''", "SM271"},
      {"'payments', 'm', repeat('x', 65537)", "SM271"},
      {"'payments', repeat('x', (16 << 20) + 1)", "SM271"},
      {"'payments', 'm', headers => '[]'", "SM271"},
      {"'payments', 'm', headers => '{\"n\": 1}'", "SM271"},
      {"'payments', 'm', headers => '{\"\": \"v\"}'", "SM271"},
      {"'payments', 'm', headers => jsonb_build_object('n', repeat('x', 256 << 10))", "SM271"},
      {"'nobody', 'm'", "SM272"},
      {"NULL, 'm'", "SM272"},
      {"'only_called', 'm'", "SM272"},
  };
  for (const auto& [arguments, state] : calls) {
    const auto refusal = client_.refused(fmt::format("SELECT semel.publish({})", arguments));
    EXPECT_EQ(refusal.state, state) << arguments << refusal.message;
    EXPECT_FALSE(refusal.hint.empty()) << arguments;
  }
  EXPECT_EQ(row_of("count(*)"), "0");
}

}  // namespace
}  // namespace semel::postgres
