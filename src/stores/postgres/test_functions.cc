#include "stores/postgres/test_functions.h"

#include <fmt/format.h>
#include <libpq-fe.h>

#include <vector>

#include "base/digest.h"
#include "core/key_encoding.h"
#include "stores/sql/test_functions_model.h"

namespace semel::postgres {
namespace {

std::string field_of(const PGresult* result, int code) {
  const char* const text = PQresultErrorField(result, code);
  return text == nullptr ? "" : text;
}

}  // namespace

ClientSession::ClientSession(const std::string& url) : connection_(PQconnectdb(url.c_str())) {}

ClientSession::~ClientSession() { PQfinish(connection_); }

std::string ClientSession::ask(const std::string& sql) {
  PGresult* const result = PQexec(connection_, sql.c_str());
  const ExecStatusType status = PQresultStatus(result);
  EXPECT_TRUE(status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK)
      << sql << ": " << PQerrorMessage(connection_);
  std::string rows;
  for (int row = 0; row < PQntuples(result); ++row) {
    if (row > 0) rows += '\n';
    for (int column = 0; column < PQnfields(result); ++column) {
      if (column > 0) rows += '|';
      rows += PQgetvalue(result, row, column);
    }
  }
  PQclear(result);
  return rows;
}

ClientSession::Refusal ClientSession::refused(const std::string& sql) {
  PGresult* const result = PQexec(connection_, sql.c_str());
  Refusal refusal{field_of(result, PG_DIAG_SQLSTATE), field_of(result, PG_DIAG_MESSAGE_PRIMARY),
                  field_of(result, PG_DIAG_MESSAGE_HINT)};
  PQclear(result);
  return refusal;
}

FunctionsTest::FunctionsTest() : store_(open()), consumer_(attach(*store_)), client_(url()) {
  make_functions(client_.connection(), "semel",
                 "(clock_timestamp() + (SELECT by FROM public.moved))");
}

std::string FunctionsTest::claimed(ClientSession& session, std::string_view key,
                                   std::string_view payload) {
  return session.ask(
      fmt::format("SELECT outcome FROM semel.claim('payments', '{}', '{}')", key, payload));
}

std::string FunctionsTest::called(ClientSession& session, std::string_view call) {
  return session.ask(fmt::format("SELECT semel.{}", call));
}

FunctionsTest::Begun FunctionsTest::begun(ClientSession& session, std::string_view key,
                                          std::string_view lease, std::string_view payload) const {
  const std::string answer =
      session.ask(fmt::format("SELECT outcome, encode(nonce, 'hex'), token, attempt, taken_over "
                              "FROM semel.begin('payments', '{}', '{}', '{}')",
                              key, payload, lease));
  const auto row = sql::FunctionsClient::begun_of(consumer_, std::string(key), answer);
  if (row.outcome != "new") return {row.outcome, {}, {}};
  return {row.outcome, row.lease, fmt::format("{}|{}", row.attempt, row.taken_over ? "t" : "f")};
}

std::string FunctionsTest::bytes(BytesView content) {
  return fmt::format("decode('{}', 'hex')", digest::hex(content));
}

}  // namespace semel::postgres
