#include "stores/mysql/error_table.h"

#include <gtest/gtest.h>

namespace semel::mysql {
namespace {

// The class of transactions that the server undid for reasons of its own.
TEST(MySqlErrors, OfClass40AreTheTransactionsAndNotTheMessages) {
  const Refusal refusals[] = {{1213, "40001", "Deadlock found"},
                              {1614, "40001", "said by a proxy"},
                              {1644, "40002", "said by a trigger"},
                              {3101, "40000", "Plugin instructed the server to rollback"},
                              {3100, "HY000", "Error on observer while running before_commit"}};
  for (const Refusal& refusal : refusals) {
    const Error error = error_of(refusal);
    EXPECT_EQ(error.kind, ErrorKind::kRetryTransaction) << error.message;
    EXPECT_EQ(error.code, "R200");
    EXPECT_TRUE(is_store_failure(refusal)) << error.message;
    EXPECT_EQ(sql_class_of(refusal), "busy");
  }
}

}  // namespace
}  // namespace semel::mysql
