#include "stores/sqlite/error_table.h"

#include <gtest/gtest.h>
#include <sqlite3.h>

namespace semel::sqlite {
namespace {

Error of(int code) { return error_of(code, "/data/s.db", "as it was said"); }

TEST(ErrorTable, EveryErrorNamesTheFileAndWhatWasSaid) {
  for (const int code : {SQLITE_BUSY, SQLITE_FULL, SQLITE_IOERR_FSYNC, SQLITE_READONLY,
                         SQLITE_CANTOPEN, SQLITE_NOTADB, SQLITE_CORRUPT, SQLITE_NOMEM,
                         SQLITE_TOOBIG, SQLITE_CONSTRAINT_UNIQUE, SQLITE_ERROR, SQLITE_MISUSE}) {
    const Error error = of(code);
    EXPECT_NE(error.message.find("/data/s.db"), std::string::npos) << code;
    EXPECT_NE(error.message.find("as it was said"), std::string::npos) << code;
    EXPECT_EQ(error.code.size(), 4U) << code;
  }
}

TEST(ErrorTable, KindsSayWhatMayBeDoneNext) {
  EXPECT_EQ(of(SQLITE_BUSY).kind, ErrorKind::kBlocked);
  EXPECT_EQ(of(SQLITE_BUSY_RECOVERY).kind, ErrorKind::kBlocked);
  EXPECT_EQ(of(SQLITE_BUSY_SNAPSHOT).kind, ErrorKind::kRetryTransaction);
  EXPECT_EQ(of(SQLITE_LOCKED).kind, ErrorKind::kRetryTransaction);
  EXPECT_EQ(of(SQLITE_FULL).kind, ErrorKind::kUnavailable);
  EXPECT_EQ(of(SQLITE_IOERR_WRITE).kind, ErrorKind::kUnavailable);
  EXPECT_EQ(of(SQLITE_CORRUPT_INDEX).kind, ErrorKind::kUnavailable);
  EXPECT_EQ(of(SQLITE_TOOBIG).kind, ErrorKind::kLimit);
  EXPECT_EQ(of(SQLITE_CONSTRAINT_FOREIGNKEY).kind, ErrorKind::kRejected);
  EXPECT_EQ(of(123456).kind, ErrorKind::kRejected) << "what the table does not know";
}

TEST(ErrorTable, Codes) {
  EXPECT_EQ(of(SQLITE_CANTOPEN_ISDIR).code, "R201");
  EXPECT_EQ(of(SQLITE_NOTADB).code, "R213");
  EXPECT_EQ(of(SQLITE_CORRUPT).code, "R202");
  EXPECT_EQ(of(SQLITE_READONLY_DIRECTORY).code, "R203");
  EXPECT_EQ(of(SQLITE_READONLY_DBMOVED).code, "R201");
  EXPECT_EQ(of(SQLITE_FULL).code, "R205");
  EXPECT_EQ(of(SQLITE_BUSY).code, "R206");
}

TEST(ErrorTable, ClassesOfAHandlersErrors) {
  EXPECT_EQ(sql_class_of(SQLITE_CONSTRAINT_CHECK), "constraint");
  EXPECT_EQ(sql_class_of(SQLITE_AUTH), "refused");
  EXPECT_EQ(sql_class_of(SQLITE_ERROR), "syntax");
  EXPECT_EQ(sql_class_of(SQLITE_BUSY), "busy");
  EXPECT_EQ(sql_class_of(SQLITE_MISMATCH), "other");
}

TEST(ErrorTable, OnlyTheStoresOwnErrorsBlameNoStatement) {
  for (const int code : {SQLITE_FULL, SQLITE_IOERR, SQLITE_NOMEM, SQLITE_CORRUPT, SQLITE_BUSY}) {
    EXPECT_TRUE(is_store_failure(code)) << code;
  }
  for (const int code :
       {SQLITE_CONSTRAINT, SQLITE_ERROR, SQLITE_AUTH, SQLITE_TOOBIG, SQLITE_MISMATCH}) {
    EXPECT_FALSE(is_store_failure(code)) << code;
  }
}

}  // namespace
}  // namespace semel::sqlite
