// A borrowed connection keeps its settings; a session of our own has the required ones.
#include <gtest/gtest.h>
#include <libpq-fe.h>
#include <poll.h>

#include <fmt/format.h>

#include <deque>

#include <semel/postgres.h>

#include "stores/postgres/connection.h"
#include "stores/postgres/test_live_place.h"

namespace semel::postgres {
namespace {

class BorrowLive : public LiveTest {
 protected:
  BorrowLive() : connection_(PQconnectdb(url().c_str())) {}
  ~BorrowLive() override { PQfinish(connection_); }
  void run(const char* text) {
    PGresult* const result = PQexec(connection_, text);
    EXPECT_EQ(PQresultStatus(result), PGRES_COMMAND_OK) << PQerrorMessage(connection_);
    PQclear(result);
  }
  PGconn* const connection_;
};

TEST_F(BorrowLive, TablesAreMadeInNoTransactionOfItsOwner) {
  run("BEGIN");
  run("CREATE TABLE his (n int)");
  const auto refused = borrow_postgres(connection_, {"semel", true});
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, "R208");
  EXPECT_EQ(refused.error().kind, ErrorKind::kRejected);
  ASSERT_EQ(PQtransactionStatus(connection_), PQTRANS_INTRANS) << "his transaction goes on";
  EXPECT_EQ(sql("SELECT to_regclass('his') IS NULL"), "t") << "and he has not committed it";
  run("COMMIT");
  EXPECT_TRUE(borrow_postgres(connection_, {"semel", true}).has_value());
  run("BEGIN");
  EXPECT_TRUE(borrow_postgres(connection_, {"semel", true}).has_value()) << "nothing is to be made";
  EXPECT_EQ(PQtransactionStatus(connection_), PQTRANS_INTRANS);
  run("ROLLBACK");
}

TEST_F(BorrowLive, AConnectionThatDoesNotBlockComesBackSo) {
  const auto store = borrow_postgres(connection_, {"semel", true}).value();
  for (const int nonblocking : {1, 0}) {
    ASSERT_EQ(PQsetnonblocking(connection_, nonblocking), 0);
    ASSERT_TRUE(store->attach({fmt::format("c{}", nonblocking), "recipe", false, {}}).has_value());
    EXPECT_EQ(PQisnonblocking(connection_), nonblocking);
  }
}

TEST_F(BorrowLive, ABackslashIsABackslashWhateverTheServerIsSetTo) {
  sql("DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET standard_conforming_strings = off', "
      "current_database()); END $$");
  EXPECT_EQ(sql("SHOW standard_conforming_strings"), "off");
  const auto store = open();
  auto unit = store->facets().transactional->begin({}).value();
  const Message message = test::make_message(attach(*store), "k");
  const Message* const one = &message;
  ASSERT_TRUE(unit->claim({&one, 1}).has_value());
  RecordedStatement statement;
  statement.statement = admit_statement("SELECT length('a\\n')").value();
  const auto rows = unit->query(0, statement);
  ASSERT_TRUE(rows.has_value()) << rows.error().message;
  EXPECT_EQ(std::get<std::int64_t>(rows->rows.at(0).at(0)), 3);
}

TEST_F(BorrowLive, BytesAreTheSameWhateverTheSessionShowsThemAs) {
  const Bytes bytes("order\0\x01\\x\xff", 10);
  for (const char* const shown : {"hex", "escape"}) {
    run(fmt::format("SET bytea_output = {}", shown).c_str());
    const auto store = borrow_postgres(connection_, {"semel", true}).value();
    const ConsumerNumber number = attach(*store);
    run("BEGIN");
    auto unit = store->facets().transactional->begin({}).value();
    const Message message = test::make_message(number, shown);
    const Message* const one = &message;
    ASSERT_TRUE(unit->claim({&one, 1}).has_value());
    RecordedStatement statement;
    statement.statement = admit_statement("SELECT ?::bytea, ''::bytea").value();
    statement.values = {Blob{bytes}};
    const auto rows = unit->query(0, statement);
    ASSERT_TRUE(rows.has_value()) << rows.error().message;
    EXPECT_EQ(std::get<Blob>(rows->rows.at(0).at(0)).bytes, bytes) << shown;
    EXPECT_EQ(std::get<Blob>(rows->rows.at(0).at(1)).bytes, "") << shown;
    run("ROLLBACK");
  }
}

// A foreign data wrapper raises such an error where the other server is away.
TEST_F(BorrowLive, AForeignServerThatIsAwayIsAnErrorOfItsStatement) {
  Pipe pipe(connect({url(), "semel"}), Pipe::Whose::kOwn);
  const std::string begin = "BEGIN", commit = "COMMIT", roll_back = "ROLLBACK";
  const std::string away =
      "DO $$ BEGIN RAISE 'could not connect' USING ERRCODE = "
      "'sqlclient_unable_to_establish_sqlconnection'; END $$";
  pipe.send(begin, {});
  pipe.send(away, {});
  pipe.send(commit, {});
  const auto told = pipe.run(Loss::kInDoubt);
  ASSERT_EQ(told.back().results.size(), 3U);
  EXPECT_EQ(state_of(told.back().results[1].get()), "08001");
  pipe.send(roll_back, {});
  EXPECT_TRUE(went_well(pipe.run(Loss::kNothingDone).back().results.back().get()));
  EXPECT_TRUE(pipe.whole()) << "the session is well";
}

// It dies before the statements are sent, while they are sent, or while it runs them.
TEST_F(BorrowLive, ALostConnectionComesBackOutOfPipelineMode) {
  const auto store = borrow_postgres(connection_, {"semel", true}).value();
  const ConsumerNumber number = attach(*store);
  const Message message = test::make_message(number, "k");
  const Message* const one = &message;
  const std::string kill = "SELECT pg_terminate_backend(pg_backend_pid())";
  for (const bool itself : {false, true}) {
    run("BEGIN");
    auto unit = store->facets().transactional->begin({}).value();
    ASSERT_TRUE(unit->claim({&one, 1}).has_value());
    if (!itself) {
      ASSERT_EQ(sql(fmt::format("SELECT pg_terminate_backend({})", PQbackendPID(connection_))),
                "t");
      pollfd ended{PQsocket(connection_), POLLRDHUP, 0};
      ASSERT_EQ(::poll(&ended, 1, 60'000), 1) << "the server keeps it";
    }
    // More than the socket takes at once.
    RecordedStatement statement;
    statement.statement = admit_statement(itself ? kill : "SELECT length(?)").value();
    if (!itself) statement.values = {std::string(1 << 20, 'x')};
    const auto lost = unit->query(0, statement);
    ASSERT_FALSE(lost.has_value());
    EXPECT_EQ(lost.error().code, "R250") << lost.error().message;
    EXPECT_EQ(lost.error().kind, ErrorKind::kUnavailable);
    EXPECT_EQ(PQstatus(connection_), CONNECTION_BAD);
    EXPECT_EQ(PQpipelineStatus(connection_), PQ_PIPELINE_OFF) << itself;
    unit.reset();
    EXPECT_EQ(PQpipelineStatus(connection_), PQ_PIPELINE_OFF) << itself;
    PQreset(connection_);
    ASSERT_EQ(PQstatus(connection_), CONNECTION_OK) << PQerrorMessage(connection_);
    EXPECT_EQ(PQisnonblocking(connection_), 0);
    run("BEGIN");
    unit = store->facets().transactional->begin({}).value();
    EXPECT_TRUE(std::holds_alternative<Acquired>(unit->claim({&one, 1}).value().front()));
    unit.reset();
    run("ROLLBACK");
  }
}

TEST_F(BorrowLive, ASessionThatTheServerEndedIsNotWhole) {
  const Pipe pipe(connect({url(), "semel"}), Pipe::Whose::kOwn);
  ASSERT_TRUE(pipe.whole());
  ASSERT_EQ(sql(fmt::format("SELECT pg_terminate_backend({})", PQbackendPID(pipe.connection()))),
            "t");
  pollfd ended{PQsocket(pipe.connection()), POLLRDHUP, 0};
  ASSERT_EQ(::poll(&ended, 1, 60'000), 1) << "the server keeps it";
  EXPECT_FALSE(pipe.whole());
}

TEST_F(BorrowLive, ASessionPreparesNoEndOfStatements) {
  Pipe pipe(connect({url(), "semel"}), Pipe::Whose::kOwn);
  std::deque<std::string> texts;
  std::size_t most = 0;
  for (std::size_t i = 0; i < 3 * Pipe::kMostPrepared; ++i) {
    pipe.send(texts.emplace_back(fmt::format("SELECT {}", i)), {});
    pipe.run(Loss::kNothingDone);
    if (i % 100 != 99) continue;
    pipe.send_once("SELECT count(*) FROM pg_prepared_statements", {}, true);
    const auto answer = pipe.run(Loss::kNothingDone);
    most = std::max<std::size_t>(most,
                                 std::stoul(PQgetvalue(answer.back().results.back().get(), 0, 0)));
  }
  EXPECT_LE(most, Pipe::kMostPrepared);
  EXPECT_GT(most, Pipe::kMostPrepared / 2) << "or the test is about nothing";
  pipe.send(texts.front(), {}, true);
  EXPECT_STREQ(PQgetvalue(pipe.run(Loss::kNothingDone).back().results.back().get(), 0, 0), "0");
}

TEST(PostgresHandlerTexts, KeepNoEndOfThem) {
  HandlerTexts texts;
  for (std::size_t i = 0; i < 3 * HandlerTexts::kMost; ++i) {
    Statement statement = *admit_statement(fmt::format("SELECT {} WHERE ? = 1", i)).value();
    const auto text = texts.of(statement);
    ASSERT_TRUE(text.has_value());
    EXPECT_EQ(**text, fmt::format("SELECT {} WHERE $1 = 1", i));
    ASSERT_LE(texts.size(), HandlerTexts::kMost);
  }
}

}  // namespace
}  // namespace semel::postgres
