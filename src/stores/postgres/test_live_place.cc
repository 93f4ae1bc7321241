#include "stores/postgres/test_live_place.h"

#include <libpq-fe.h>

namespace semel::postgres {

LiveTest::OtherSession::OtherSession(const std::string& url)
    : connection_(PQconnectdb(url.c_str())) {}

LiveTest::OtherSession::~OtherSession() { PQfinish(connection_); }

void LiveTest::OtherSession::run(const std::string& sql) {
  PGresult* const result = PQexec(connection_, sql.c_str());
  const ExecStatusType status = PQresultStatus(result);
  EXPECT_TRUE(status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK)
      << sql << ": " << PQerrorMessage(connection_);
  PQclear(result);
}

}  // namespace semel::postgres
