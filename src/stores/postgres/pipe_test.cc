// The meaning of a failed result, also for the commit that was sent before it.
#include "stores/postgres/pipe.h"

#include <gtest/gtest.h>
#include <libpq-fe.h>

#include <optional>
#include <string>
#include <string_view>

#include "stores/postgres/test_fake_server.h"

namespace semel::postgres {
namespace {

TEST(Pipe, AnErrorThatNoServerGaveIsALostConnection) {
  const ResultPtr lost(PQmakeEmptyPGresult(nullptr, PGRES_FATAL_ERROR));
  const Error error = failure_of(lost.get()).error();
  EXPECT_EQ(error.kind, ErrorKind::kUnavailable);
  EXPECT_EQ(error.code, "R250");
}

// The kind of error that a COMMIT ends in, where a pooler answers so and keeps the connection; none
// where the run returns a result.
std::optional<ErrorKind> commit_answered(const std::string& answer, Loss loss = Loss::kInDoubt) {
  static const std::string statement = "INSERT INTO effect VALUES (1)";
  static const std::string commit = "COMMIT";
  const FakeServer server({.hello = FakeServer::welcome(1), .answer = {}, .pipeline = answer});
  Pipe pipe(PQconnectdb(server.url().c_str()), Pipe::Whose::kOwn);
  pipe.send(statement, {});
  pipe.send(commit, {});
  try {
    for (const Pipe::Segment& segment : pipe.run(loss)) {
      EXPECT_EQ(segment.results.size(), 2U);
    }
  } catch (const sql::Failure& failed) {
    EXPECT_EQ(failed.error().code, "R250");
    EXPECT_FALSE(pipe.whole()) << "its session on the server is gone";
    return failed.error().kind;
  }
  return std::nullopt;
}

std::string refused_statement(std::string_view severity, std::string_view state,
                              char status = 'I') {
  return FakeServer::parsed() + FakeServer::error(severity, state, "no") +
         FakeServer::ready(status);
}

std::string refused_commit(std::string_view severity, std::string_view state) {
  return FakeServer::parsed() + FakeServer::bound() + FakeServer::done() + FakeServer::parsed() +
         FakeServer::error(severity, state, "no") + FakeServer::ready();
}

TEST(Pipe, APoolerThatLostTheServerLeavesTheCommitInDoubt) {
  EXPECT_EQ(commit_answered(refused_commit("FATAL", "08P01")), ErrorKind::kInDoubt);
  EXPECT_EQ(commit_answered(refused_commit("ERROR", "08006")), ErrorKind::kInDoubt);
  EXPECT_EQ(commit_answered(refused_commit("FATAL", "58000")), ErrorKind::kInDoubt);
  EXPECT_EQ(commit_answered(refused_commit("PANIC", "58030")), ErrorKind::kInDoubt);
  // The server may have run all that was sent before the pooler noticed.
  EXPECT_EQ(commit_answered(refused_statement("FATAL", "08P01")), ErrorKind::kInDoubt);
  for (const char* const state : {"08P01", "08006", "08003"}) {
    EXPECT_EQ(commit_answered(refused_statement("ERROR", state)), ErrorKind::kInDoubt) << state;
  }
  // While the commit itself was being prepared.
  const std::string preparing = FakeServer::parsed() + FakeServer::bound() + FakeServer::done() +
                                FakeServer::error("ERROR", "08006", "no") + FakeServer::ready();
  EXPECT_EQ(commit_answered(preparing), ErrorKind::kInDoubt);
}

// A foreign server that is away, or a deferred constraint: the transaction is undone. A server that
// refuses a statement skips the commit, and says so by the state of the transaction.
TEST(Pipe, AnErrorOfAStatementLeavesNothingInDoubt) {
  EXPECT_EQ(commit_answered(refused_statement("ERROR", "08006", 'E')), std::nullopt);
  EXPECT_EQ(commit_answered(refused_statement("ERROR", "08006"), Loss::kNothingDone), std::nullopt);
  EXPECT_EQ(commit_answered(refused_commit("ERROR", "23505")), std::nullopt);
  EXPECT_EQ(commit_answered(refused_commit("FATAL", "08P01"), Loss::kNothingDone), std::nullopt);
}

}  // namespace
}  // namespace semel::postgres
