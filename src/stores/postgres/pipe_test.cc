// The meaning of a failed result.
#include "stores/postgres/pipe.h"

#include <gtest/gtest.h>
#include <libpq-fe.h>

namespace semel::postgres {
namespace {

TEST(Pipe, AnErrorThatNoServerGaveIsALostConnection) {
  const ResultPtr lost(PQmakeEmptyPGresult(nullptr, PGRES_FATAL_ERROR));
  const Error error = failure_of(lost.get()).error();
  EXPECT_EQ(error.kind, ErrorKind::kUnavailable);
  EXPECT_EQ(error.code, "R250");
}

}  // namespace
}  // namespace semel::postgres
