// Held messages on a PostgreSQL server: cases that are too large for the conformance suite.
#include <gtest/gtest.h>
#include <libpq-fe.h>

#include <atomic>
#include <map>
#include <random>
#include <set>
#include <thread>

#include "stores/postgres/connection.h"
#include "stores/postgres/schema.h"
#include "stores/sql/held.h"
#include "stores/sql/held_take.h"
#include "tests/support/postgres_server.h"

namespace semel::postgres {
namespace {

using namespace std::chrono_literals;
using test::PostgresServer;

constexpr ConsumerNumber kConsumer{1};
constexpr std::size_t kMuch = 64 << 20;

// Counts how often an answer is waited for.
class CountingSession final : public sql::Session {
 public:
  CountingSession(const Endpoint& place, const Dialect& dialect, const SessionTexts& texts,
                  std::atomic<int>& waits)
      : session_(place, dialect, texts), waits_(waits) {}
  sql::Answer ask(const sql::SqlText& text, std::initializer_list<sql::Param> params) override {
    ++waits_;
    return session_.ask(text, params);
  }
  void queue(const sql::SqlText& text, std::initializer_list<sql::Param> params) override {
    session_.queue(text, params);
  }
  std::int64_t next_number(sql::Counter counter) override { return session_.next_number(counter); }
  StoreTime now() override {
    ++waits_;
    return session_.now();
  }
  void begin(std::chrono::milliseconds patience) override { session_.begin(patience); }
  void commit() override {
    ++waits_;
    session_.commit();
  }
  bool borrowed() const noexcept override { return session_.borrowed(); }
  void note_commit() noexcept override { session_.note_commit(); }
  void roll_back() noexcept override { session_.roll_back(); }
  bool whole() const noexcept override { return session_.whole(); }

 private:
  Connection session_;
  std::atomic<int>& waits_;
};

class OneInstance final : public sql::Instances {
 public:
  explicit OneInstance(std::int64_t number) : number_(number) {}
  std::int64_t number() override { return number_; }
  std::int64_t number_for(sql::Session&) override { return number_; }
  std::vector<std::int64_t> gone(sql::Session&) override { return {}; }
  bool is_gone(sql::Session&, std::int64_t) override { return false; }
  void renumber(std::int64_t number) { number_ = number; }

 private:
  std::int64_t number_;
};

class CountedRings final : public sql::WakeUps {
 public:
  int fd(std::optional<ConsumerNumber>) noexcept override { return -1; }
  void drain(ConsumerNumber) override {}
  void ring(sql::Session&, ConsumerNumber) override { ++rings; }
  std::atomic<int> rings = 0;
};

// The parts of one process.
struct Process {
  Process(const Endpoint& place, std::int64_t number)
      : dialect(place.schema),
        session_texts(dialect, place.clock),
        texts(dialect),
        pool(
            [this, place] {
              return std::make_unique<CountingSession>(place, dialect, session_texts, waits);
            },
            8, place.patience),
        instances(number),
        held(sql::make_held({pool, texts, wake_ups, instances})) {}

  std::vector<Arrival> take(std::size_t most, const LineOf& line_of = {},
                            std::size_t bytes = kMuch) {
    auto taken = held->take(kConsumer, most, bytes, 10min, line_of);
    EXPECT_TRUE(taken.has_value()) << taken.error().message;
    return std::move(taken).value_or(std::vector<Arrival>());
  }
  void append(const std::vector<Bytes>& payloads) {
    std::vector<OutgoingMessage> messages(payloads.size());
    for (std::size_t i = 0; i < payloads.size(); ++i) messages[i].payload = payloads[i];
    const auto appended = held->append(kConsumer, messages);
    ASSERT_TRUE(appended.has_value()) << appended.error().message;
  }
  std::size_t depth() { return held->depth(kConsumer).value().rows; }

  std::atomic<int> waits = 0;
  Dialect dialect;
  SessionTexts session_texts;
  sql::TableTexts texts;
  sql::Pool pool;
  OneInstance instances;
  CountedRings wake_ups;
  std::unique_ptr<HeldMessages> held;
};

std::optional<Bytes> line_of(const Arrival& arrival) {
  return arrival.payload.substr(0, arrival.payload.find(':'));
}

std::vector<RowTag> tags_of(const std::vector<Arrival>& arrivals) {
  std::vector<RowTag> rows;
  for (const Arrival& arrival : arrivals) rows.push_back(*arrival.row);
  return rows;
}

class HeldTest : public testing::Test {
 protected:
  HeldTest() : database_(PostgresServer::shared().new_database()) {
    place_.url = PostgresServer::shared().url(database_);
    place_.schema = "public";
    PGconn* const connection = connect(place_);
    make_schema(connection, place_.schema);
    PQfinish(connection);
    query("INSERT INTO semel_consumer VALUES (1, 'orders', '', NULL)");
  }
  std::string query(const std::string& sql) const {
    return PostgresServer::shared().query(database_, sql);
  }
  // Rows that would never become due: first in their line, but hidden forever.
  std::string stuck() const {
    return query(
        "SELECT row_id, line FROM semel_held AS this WHERE due_at = '9999-12-30T00:00:00Z' "
        "AND NOT EXISTS (SELECT 1 FROM semel_held AS other WHERE other.consumer = this.consumer "
        "AND other.line = this.line AND other.place < this.place)");
  }
  static std::vector<Bytes> numbered(std::size_t count, std::size_t lines) {
    std::vector<Bytes> payloads;
    for (std::size_t i = 0; i < count; ++i) {
      payloads.push_back("line " + std::to_string(i % lines) + ":" + std::to_string(i));
    }
    return payloads;
  }
  static std::vector<Bytes> payloads(const std::vector<Arrival>& arrivals) {
    std::vector<Bytes> payloads;
    for (const Arrival& arrival : arrivals) payloads.push_back(arrival.payload);
    return payloads;
  }

  const std::string database_;
  Endpoint place_;
};

TEST_F(HeldTest, ManyRowsCostFewRoundTrips) {
  Process process(place_, 1);
  constexpr std::size_t kRows = 200;
  const auto sent = numbered(kRows, kRows);
  process.append(sent);
  process.waits = 0;
  const auto taken = process.take(kRows);
  EXPECT_EQ(payloads(taken), sent);
  EXPECT_LE(process.waits, 3) << "the time, the rows, the commit";

  process.waits = 0;
  ASSERT_TRUE(process.held->release(tags_of(taken), 0ms).has_value());
  EXPECT_LE(process.waits, 9);
  process.waits = 0;
  const auto in_line = process.take(kRows, line_of);
  EXPECT_EQ(payloads(in_line), sent);
  EXPECT_LE(process.waits, 20) << "a few for each few lines";

  process.waits = 0;
  ASSERT_TRUE(process.held->remove(tags_of(in_line)).has_value());
  EXPECT_LE(process.waits, 25);
  EXPECT_EQ(process.depth(), 0U);
}

TEST_F(HeldTest, MoreRowsThanALookHas) {
  Process process(place_, 1);
  const auto sent = numbered(700, 50);
  process.append(sent);
  const auto taken = process.take(1000, line_of);
  EXPECT_EQ(payloads(taken), sent);
  auto rows = tags_of(taken);
  rows.push_back(RowTag{123'456});
  ASSERT_TRUE(process.held->release(rows, 0ms).has_value());
  EXPECT_EQ(stuck(), "");
  EXPECT_EQ(process.take(1000, line_of).size(), 700U);
  ASSERT_TRUE(process.held->remove(rows).has_value());
  EXPECT_EQ(process.depth(), 0U);
}

TEST_F(HeldTest, ABacklogThatWaitsCostsFewRoundTripsWhateverRoomIsLeft) {
  Process process(place_, 1);
  process.append(numbered(2'000, 1));
  process.append({"other:1"});
  const auto first = process.take(1, line_of);
  ASSERT_EQ(payloads(first), numbered(1, 1));
  ASSERT_TRUE(process.held->release(tags_of(first), 1h).has_value());
  process.waits = 0;
  EXPECT_EQ(payloads(process.take(1, line_of)), std::vector<Bytes>{"other:1"});
  EXPECT_LE(process.waits, 40) << "a few for each few hundred rows";
}

// As after the loss of the session that held the number's lock.
TEST_F(HeldTest, AProcessUnderAnotherNumberHasItsRowsInHandAllTheSame) {
  Process process(place_, 1), other(place_, 2);
  process.append({"a:1", "b"});
  const auto taken = process.take(10, [](const Arrival& arrival) {
    return arrival.payload == "b" ? std::nullopt : line_of(arrival);
  });
  ASSERT_EQ(taken.size(), 2U);
  process.instances.renumber(3);
  ASSERT_TRUE(other.held->release(tags_of(taken), 0ms).has_value());
  EXPECT_TRUE(other.take(10).empty());
  ASSERT_TRUE(process.held->release(tags_of(taken), 0ms).has_value());
  EXPECT_EQ(other.take(10).size(), 2U);
}

TEST_F(HeldTest, OneTransactionLooksAtALimitedNumberOfRows) {
  Process process(place_, 1);
  process.append(numbered(6'000, 1));
  process.append({"other:1"});
  const auto first = process.take(1, line_of);
  ASSERT_TRUE(process.held->release(tags_of(first), 1h).has_value());
  sql::ScopedTransaction work(process.pool);
  sql::HeldRows held(work.session(), process.texts.held, process.wake_ups);
  held.lines().lock(kConsumer);
  sql::HeldTake::Wanted wanted{kConsumer, 1, kMuch, 1, work.now(), work.now() + 10min};
  const auto taken = sql::HeldTake(held, wanted).run(line_of);
  ASSERT_TRUE(taken.has_value());
  EXPECT_TRUE(taken->rows.empty());
  EXPECT_TRUE(taken->more);
  work.commit();
  EXPECT_LT(std::stoul(query("SELECT count(*) FROM semel_held WHERE line IS NOT NULL")), 5'000U);
}

TEST_F(HeldTest, LargePayloadsComeWholeAndOnlyAsManyAsAreWanted) {
  Process process(place_, 1);
  const Bytes large("a:" + Bytes(200'000, 'x'));
  process.append({"b:1", large, "a:2", large, large, "b:2"});
  EXPECT_EQ(payloads(process.take(10, line_of, 300'000)),
            (std::vector<Bytes>{"b:1", large, "a:2", large}));
  EXPECT_EQ(payloads(process.take(10, line_of)), (std::vector<Bytes>{large, "b:2"}));
}

TEST_F(HeldTest, RowsThatStandInLinesAreFoundByWhoeverKeepsNone) {
  Process ordered(place_, 1);
  Process other(place_, 2);
  ordered.append({"a:1", "a:2", "a:3"});
  const auto first = ordered.take(1, line_of);
  EXPECT_EQ(payloads(other.take(10)), (std::vector<Bytes>{"a:2", "a:3"}));
  ASSERT_TRUE(ordered.held->release(tags_of(first), 0ms).has_value());
  EXPECT_EQ(payloads(other.take(10)), std::vector<Bytes>{"a:1"});
}

TEST_F(HeldTest, WhoDiedLeavesItsRowsSuspect) {
  Process dead(place_, 1);
  Process other(place_, 2);
  dead.append({"a:1", "b:1", "a:2", "a:3"});
  ASSERT_EQ(dead.take(3, line_of).size(), 3U);
  other.wake_ups.rings = 0;
  {
    sql::ScopedTransaction work(other.pool);
    sql::HeldRows held(work.session(), other.texts.held, other.wake_ups);
    EXPECT_EQ(held.show_again(1, work.now()), 3);
    EXPECT_EQ(held.show_again(1, work.now()), 0);
    work.commit();
  }
  EXPECT_EQ(other.wake_ups.rings, 1);
  const auto taken = other.take(10, line_of);
  ASSERT_EQ(taken.size(), 4U);
  for (const Arrival& arrival : taken) EXPECT_EQ(arrival.suspect, arrival.payload != "a:3");
}

// Several processes append, take, give back, put off and remove concurrently. Rows of a line are
// removed in order, and no row is left behind a removed one.
class Hustle {
 public:
  Hustle(const Endpoint& place, int number) : process_(place, number), random_(unsigned(number)) {}

  struct Lines {
    std::mutex mutex;
    std::map<Bytes, int> sent, gone;
    std::atomic<std::size_t> left = 0;
  };

  void send(Lines& lines) {
    // One sender at a time: otherwise the order of a line is undefined.
    const std::scoped_lock lock(lines.mutex);
    std::vector<Bytes> payloads;
    for (int i = 0; i < 5; ++i) {
      const Bytes line(1, static_cast<char>('a' + random_() % 4));
      payloads.push_back(line + ":" + std::to_string(++lines.sent[line]));
    }
    lines.left += payloads.size();
    process_.append(payloads);
  }

  void work(Lines& lines) {
    const auto taken = process_.take(1 + random_() % 12, line_of);
    std::map<Bytes, std::vector<const Arrival*>> hands;
    for (const Arrival& arrival : taken) hands[*arrival.line].push_back(&arrival);
    for (const auto& [line, hand] : hands) handle(lines, line, hand);
  }

 private:
  void handle(Lines& lines, const Bytes& line, const std::vector<const Arrival*>& hand) {
    const std::size_t done = random_() % (hand.size() + 1);
    std::vector<RowTag> rows;
    for (const Arrival* arrival : hand) rows.push_back(*arrival->row);
    for (std::size_t i = 0; i < done; ++i) {
      const std::scoped_lock lock(lines.mutex);
      EXPECT_EQ(hand[i]->payload, line + ":" + std::to_string(++lines.gone[line]));
    }
    const std::span<const RowTag> all(rows);
    if (done > 0) {
      const auto removed = process_.held->remove(all.first(done));
      ASSERT_TRUE(removed.has_value()) << removed.error().message;
      lines.left -= done;
    }
    if (done == hand.size()) return;
    const auto rest = all.subspan(done);
    const auto given = process_.held->release(rest.first(1), random_() % 2 == 0 ? 3ms : 0ms);
    ASSERT_TRUE(given.has_value()) << given.error().message;
    const auto others = process_.held->release(rest.subspan(1), 0ms);
    ASSERT_TRUE(others.has_value()) << others.error().message;
  }

  Process process_;
  std::mt19937 random_;
};

TEST_F(HeldTest, ALineKeepsItsOrderHoweverManyTakeFromIt) {
  Hustle::Lines lines;
  {
    std::vector<std::jthread> threads;
    for (int number = 1; number <= 4; ++number) {
      threads.emplace_back([&, number] {
        Hustle hustle(place_, number);
        for (int i = 0; i < 25; ++i) {
          hustle.send(lines);
          hustle.work(lines);
        }
        const auto end = std::chrono::steady_clock::now() + 60s;
        while (lines.left > 0 && std::chrono::steady_clock::now() < end) hustle.work(lines);
      });
    }
  }
  EXPECT_EQ(lines.gone, lines.sent);
  EXPECT_EQ(stuck(), "");
  EXPECT_EQ(query("SELECT count(*) FROM semel_held"), "0");
}

}  // namespace
}  // namespace semel::postgres
