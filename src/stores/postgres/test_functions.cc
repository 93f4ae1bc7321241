#include "stores/postgres/test_functions.h"

#include <fmt/format.h>
#include <libpq-fe.h>

#include <vector>

#include "base/digest.h"
#include "core/key_encoding.h"

namespace semel::postgres {
namespace {

std::string field_of(const PGresult* result, int code) {
  const char* const text = PQresultErrorField(result, code);
  return text == nullptr ? "" : text;
}

unsigned char digit_of(char c) {
  return static_cast<unsigned char>(c <= '9' ? c - '0' : c - 'a' + 10);
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
  std::vector<std::string> fields(1);
  for (const char c : answer) {
    if (c == '|') {
      fields.emplace_back();
    } else {
      fields.back() += c;
    }
  }
  Begun begun{fields.at(0), {}, {}};
  if (begun.outcome != "new") return begun;
  begun.lease.key = core::encode_key(consumer_, key);
  for (std::size_t i = 0; i < begun.lease.nonce.bytes.size(); ++i) {
    begun.lease.nonce.bytes.at(i) = static_cast<unsigned char>(
        digit_of(fields.at(1).at(2 * i)) * 16 + digit_of(fields.at(1).at(2 * i + 1)));
  }
  begun.lease.token = static_cast<Token>(std::stoll(fields.at(2)));
  begun.rest = fields.at(3) + "|" + fields.at(4);
  return begun;
}

std::string FunctionsTest::bytes(BytesView content) {
  return fmt::format("decode('{}', 'hex')", digest::hex(content));
}

}  // namespace semel::postgres
