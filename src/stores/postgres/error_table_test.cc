#include "stores/postgres/error_table.h"

#include <gtest/gtest.h>

namespace semel::postgres {
namespace {

TEST(PostgresErrors, OfATransactionThatFailedOrIsMissingSayWhatToDo) {
  const Error failed = error_of("25P02", "current transaction is aborted");
  EXPECT_EQ(failed.code, "R200");
  EXPECT_EQ(failed.kind, ErrorKind::kRejected);
  EXPECT_NE(failed.message.find("25P02 current transaction is aborted"), std::string::npos)
      << failed.message;
  EXPECT_NE(failed.hint.find("roll back"), std::string::npos) << failed.hint;
  const Error missing = error_of("25P01", "there is no transaction in progress");
  EXPECT_EQ(missing.kind, ErrorKind::kRejected);
  EXPECT_NE(missing.hint.find("autocommit"), std::string::npos) << missing.hint;
}

TEST(PostgresErrors, OfAServerThatIsAwayHaveAFix) {
  for (const char* const state : {"57P01", "57P03", "08006", "53200", "53300"}) {
    const Error error = error_of(state, "x");
    EXPECT_EQ(error.kind, ErrorKind::kUnavailable) << state;
    EXPECT_FALSE(error.code.empty()) << state;
    EXPECT_FALSE(error.hint.empty()) << state;
  }
}

}  // namespace
}  // namespace semel::postgres
