// Messages that a SQL client publishes in its own transaction, on MariaDB and MySQL.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>

#include <semel/spi/held_messages.h>

#include "core/guard_recipe.h"
#include "stores/mysql/test_functions.h"

namespace semel::mysql {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kManyMessages = 10;
constexpr std::size_t kManyBytes = 1 << 20;

class ProcedureQueue : public FunctionsTest {
 protected:
  // The rows that a runner of the consumer would take.
  std::vector<Arrival> taken() {
    auto rows = held().take(consumer_, kManyMessages, kManyBytes, 1h);
    EXPECT_TRUE(rows.has_value()) << rows.error().message;
    return rows ? std::move(*rows) : std::vector<Arrival>();
  }
  HeldMessages& held() { return *store_->facets().held; }
  // Message, key, headers, content type, type, delay.
  void publish(const std::string& arguments) {
    client_.ask(fmt::format("CALL semel_publish('payments', {})", arguments));
  }
};

TEST_P(ProcedureQueue, AMessageComesAndGoesWithItsTransaction) {
  client_.ask("START TRANSACTION");
  publish("'lost', NULL, NULL, NULL, NULL, NULL");
  client_.ask("ROLLBACK");
  client_.ask("START TRANSACTION");
  EXPECT_EQ(claimed(client_, "order-1"), "new");
  publish("'kept', NULL, NULL, NULL, NULL, NULL");
  EXPECT_TRUE(taken().empty()) << "it is not committed";
  client_.ask("COMMIT");
  const auto rows = taken();
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows.front().payload, "kept");
  EXPECT_FALSE(rows.front().key.has_value()) << "the consumer's recipe finds it";
}

TEST_P(ProcedureQueue, ARowIsThatOfTheStore) {
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
  publish(R"('{"text":"back\\slash"}', 'order-17', '{"a": "", "bb": "Grüße, 1:2"}',)"
          " 'application/json', 'mail.v1', 0");
  publish("'', NULL, NULL, NULL, NULL, NULL");
  EXPECT_EQ(
      sql("SELECT COUNT(DISTINCT CONCAT_WS('~', consumer, COALESCE(taken_by, 'none'), suspect, "
          "attempts, COALESCE(first_seen, 'none'), COALESCE(HEX(fingerprint), 'none'), "
          "COALESCE(HEX(message_key), 'none'), HEX(type), HEX(content_type), "
          "HEX(source_partition), HEX(source_position), COALESCE(HEX(broker_key), 'none'), "
          "COALESCE(broker_time, 'none'), HEX(headers), HEX(payload), COALESCE(line, 'none'), "
          "COALESCE(place, 'none'), COALESCE(line_bytes, 'none'), COALESCE(inbox, 'none'))), "
          "COUNT(*) FROM semel_held"),
      "2|4");
  const auto rows = taken();
  ASSERT_EQ(rows.size(), 4U) << "in the order of their numbers";
  EXPECT_EQ(rows[2].payload, message.payload);
  EXPECT_EQ(rows[2].key, message.key);
  EXPECT_EQ(rows[2].type, message.type);
  EXPECT_EQ(rows[2].content_type, message.content_type);
  ASSERT_EQ(rows[2].headers.size(), 2U);
  EXPECT_EQ(rows[2].headers[1].name, "bb");
  EXPECT_EQ(rows[2].headers[1].value, "Grüße, 1:2");
  EXPECT_EQ(rows[3].payload, "");
}

// As encoders of Python and PHP write them.
TEST_P(ProcedureQueue, NamesOfHeadersMayHaveEscapes) {
  const std::map<std::string, std::string> expected = {
      {"Größe", "😀"},       {"a/b", "c/d"}, {"q\"x", "\"y\""}, {"\\", "\\\\"},
      {"a\n'$.*[0]", "\t"}, {"é", "1"},     {"é1", "2"}};
  const std::string_view given =
      R"({"Gr\u00f6\u00dfe": "\ud83d\ude00", "a\/b": "c\/d", "q\u0022x": "\"y\"", )"
      R"("\\": "\\\u005c", "a\n'$.*[0]": "\u0009", "\u00E9": "1", "é1": "2"})";
  publish(fmt::format("'m', NULL, {}, NULL, NULL, NULL", hex(given)));
  const auto rows = taken();
  ASSERT_EQ(rows.size(), 1U);
  std::map<std::string, std::string> headers;
  for (const Header& header : rows.front().headers) headers[header.name] = header.value;
  EXPECT_EQ(headers, expected);
  EXPECT_EQ(rows.front().headers.size(), expected.size());
}

TEST_P(ProcedureQueue, AMessageThatIsDueLaterWaits) {
  publish("'later', NULL, NULL, NULL, NULL, 3600");
  publish("'never in a life', NULL, NULL, NULL, NULL, 300e9");
  publish("x'00ff', 'k', NULL, NULL, NULL, -3600");
  EXPECT_EQ(sql("SELECT due_at FROM semel_held ORDER BY due_at DESC LIMIT 1"),
            "9999-12-29 23:59:59.999000")
      << "before rows that are due never";
  auto rows = taken();
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows.front().payload, std::string("\0\xff", 2));
  EXPECT_EQ(rows.front().key, "k");
  advance(2h);
  rows = taken();
  ASSERT_EQ(rows.size(), 2U) << "the one in hand shows again, it is not settled";
  EXPECT_EQ(held().depth(consumer_)->rows, 3U);
}

TEST_P(ProcedureQueue, AMessageWithoutADelayIsDueThoughTheClockIsSetBack) {
  publish("'first', NULL, NULL, NULL, NULL, NULL");
  advance(-10s);
  publish("'second', NULL, NULL, NULL, NULL, 0");
  const auto rows = taken();
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].payload, "first");
  EXPECT_EQ(rows[1].payload, "second");
}

TEST_P(ProcedureQueue, BadInputIsRefusedWithOurCode) {
  ASSERT_TRUE(store_->attach({"only_called", std::string(core::kGuardRecipe), false, kTtl}));
  const std::pair<const char*, const char*> calls[] = {
      {"'payments', NULL, NULL, NULL, NULL, NULL, NULL", "SM271"},
      {"'payments', 'm', '', NULL, NULL, NULL, NULL", "SM271"},
      {"'payments', 'm', REPEAT('x', 65537), NULL, NULL, NULL, NULL", "SM271"},
      {"'payments', 'm', NULL, '[]', NULL, NULL, NULL", "SM271"},
      {"'payments', 'm', NULL, 'none', NULL, NULL, NULL", "SM271"},
      {"'payments', 'm', NULL, '{\"n\": 1}', NULL, NULL, NULL", "SM271"},
      {"'payments', 'm', NULL, '{\"n\": null}', NULL, NULL, NULL", "SM271"},
      {"'payments', 'm', NULL, '{\"\": \"v\"}', NULL, NULL, NULL", "SM271"},
      {"'payments', 'm', NULL, JSON_OBJECT('n', REPEAT('x', 256 << 10)), NULL, NULL, NULL",
       "SM271"},
      {"'nobody', 'm', NULL, NULL, NULL, NULL, NULL", "SM272"},
      {"NULL, 'm', NULL, NULL, NULL, NULL, NULL", "SM272"},
      {"'only_called', 'm', NULL, NULL, NULL, NULL, NULL", "SM272"},
  };
  for (const auto& [arguments, state] : calls) {
    const auto refusal = client_.refused(fmt::format("CALL semel_publish({})", arguments));
    EXPECT_EQ(refusal.state, state) << arguments << refusal.message;
  }
  // A server with smaller packets refuses it by itself.
  const auto too_large = client_.refused(
      "CALL semel_publish('payments', CONCAT(REPEAT('x', 9 << 20), REPEAT('x', 9 << 20)), NULL, "
      "NULL, NULL, NULL, NULL)");
  const bool packets_are_larger = sql("SELECT @@max_allowed_packet > 32 << 20") == "1";
  EXPECT_EQ(too_large.state, packets_are_larger ? "SM271" : "HY000") << too_large.message;
  EXPECT_EQ(sql("SELECT COUNT(*) FROM semel_held"), "0");
}

INSTANTIATE_TEST_SUITE_P(Servers, ProcedureQueue, testing::ValuesIn(test::shared_mysql_servers()),
                         name_of_server);

}  // namespace
}  // namespace semel::mysql
