#include "cli/exit_code.h"

#include <gtest/gtest.h>

namespace semel::cli {
namespace {

Error error(ErrorKind kind, std::string code) { return {kind, std::move(code), "…", {}}; }

TEST(ExitCode, OfAStoreThatIsAwayIsUnavailable) {
  EXPECT_EQ(exit_code_of(error(ErrorKind::kUnavailable, "R201")), kUnavailable);
  EXPECT_EQ(exit_code_of(error(ErrorKind::kBlocked, "R206")), kUnavailable);
  EXPECT_EQ(exit_code_of(error(ErrorKind::kRejected, "R207")), kUnavailable);
}

TEST(ExitCode, OfARedisServerThatIsFullOrBusyIsUnavailable) {
  for (const char* code : {"R205", "R250", "R254", "R261", "R262", "R266"}) {
    EXPECT_EQ(exit_code_of(error(ErrorKind::kUnavailable, code)), kUnavailable) << code;
  }
}

TEST(ExitCode, OfAReadOnlyStoreIsNoPermission) {
  EXPECT_EQ(exit_code_of(error(ErrorKind::kUnavailable, "R203")), kNoPermission);
  EXPECT_EQ(exit_code_of(error(ErrorKind::kRejected, "R203")), kNoPermission);
  EXPECT_EQ(exit_code_of(error(ErrorKind::kRejected, "R253")), kNoPermission);
}

TEST(ExitCode, OfAnotherUsersRunIsNoPermission) {
  EXPECT_EQ(exit_code_of(error(ErrorKind::kUnavailable, "R291")), kNoPermission);
  EXPECT_EQ(exit_code_of(error(ErrorKind::kUnavailable, "R292")), kUnavailable);
}

TEST(ExitCode, OfWhatOnlyAChangeMendsIsConfig) {
  for (const char* code :
       {"R204", "R209", "R210", "R220", "R251", "R252", "R257", "R258", "R259", "R263", "R264",
        "R265", "R267", "R269", "R280", "R282", "R308", "E012", "E061"}) {
    EXPECT_EQ(exit_code_of(error(ErrorKind::kRejected, code)), kConfig) << code;
  }
}

TEST(ExitCode, OfARequestThatIsWrongIsBad) {
  EXPECT_EQ(exit_code_of(error(ErrorKind::kRejected, "")), kBad);
  EXPECT_EQ(exit_code_of(error(ErrorKind::kLimit, "")), kBad);
}

}  // namespace
}  // namespace semel::cli
