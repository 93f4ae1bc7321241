#include "clients/sqs/errors.h"

#include <gtest/gtest.h>

namespace semel::sqs {
namespace {

core::SqsAccess orders_access() {
  core::SqsAccess access;
  access.queue = core::read_sqs_url("https://sqs.eu-west-1.amazonaws.com/1/orders").value();
  return access;
}

TEST(SqsErrors, ARefusalIsReadHoweverItsTypeIsWritten) {
  for (const char* body :
       {R"({"__type":"com.amazonaws.sqs#QueueDoesNotExist","message":"no"})",
        R"({"__type":"QueueDoesNotExist","Message":"no"})",
        R"({"__type":"AWS.SimpleQueueService.QueueDoesNotExist","message":"no"})"}) {
    const Refusal read = refusal_in(400, body);
    EXPECT_EQ(read.type, "QueueDoesNotExist") << body;
    EXPECT_EQ(read.said, "no") << body;
  }
  const Refusal none = refusal_in(502, "<html>\x1b bad gateway");
  EXPECT_EQ(none.type, "");
  EXPECT_EQ(none.said, "<html>\\x1b bad gateway");
}

TEST(SqsErrors, EachHasItsCodeAndWhetherItIsFinal) {
  struct Case {
    int status;
    const char* type;
    const char* code;
    ErrorKind at_first;
    ErrorKind later;
  };
  constexpr auto kAway = ErrorKind::kUnavailable;
  constexpr auto kFinal = ErrorKind::kRejected;
  for (const Case& each :
       {Case{503, "ServiceUnavailable", "R390", kAway, kAway}, Case{500, "", "R390", kAway, kAway},
        Case{403, "InvalidClientTokenId", "R392", kFinal, kAway},
        Case{403, "SignatureDoesNotMatch", "R392", kFinal, kAway},
        Case{403, "AccessDenied", "R393", kFinal, kAway},
        Case{400, "QueueDoesNotExist", "R394", kFinal, kFinal},
        Case{400, "RequestThrottled", "R396", kAway, kAway},
        Case{403, "OverLimit", "R396", kAway, kAway}, Case{429, "", "R396", kAway, kAway},
        Case{400, "UnsupportedOperation", "R398", kFinal, kAway}}) {
    for (const bool known : {false, true}) {
      const Error error =
          refused({each.status, each.type, "said"}, orders_access(), {known, known}, false);
      EXPECT_EQ(error.code, each.code) << each.type;
      EXPECT_EQ(error.kind, known ? each.later : each.at_first) << each.type;
      EXPECT_NE(error.message.find("said"), std::string::npos) << error.message;
      EXPECT_FALSE(error.hint.empty()) << error.code;
    }
  }
}

// Each action has its own permission: one that never worked is missing, rather than just being
// changed.
TEST(SqsErrors, ARightThatNeverWorkedIsMissedForGood) {
  const Refusal denied{403, "AccessDenied", "no"};
  const auto kind_of = [&](const Worked& worked) {
    return refused(denied, orders_access(), worked, false).kind;
  };
  EXPECT_EQ(kind_of({.any = true, .action = false}), ErrorKind::kRejected);
  EXPECT_EQ(kind_of({.any = true, .action = true}), ErrorKind::kUnavailable);
}

TEST(SqsErrors, AReceiptIsBlamedOnlyWhereOneWasShown) {
  const Refusal refusal{400, "InvalidParameterValue", "no"};
  EXPECT_EQ(refused(refusal, orders_access(), {}, true).code, "R395");
  EXPECT_EQ(refused(refusal, orders_access(), {true, true}, false).code, "R398");
}

TEST(SqsErrors, ACertificateThatIsNotTrustedIsFinalAndSilenceIsNot) {
  const Error untrusted =
      unanswered({ErrorKind::kRejected, {}, "self-signed", {}}, orders_access());
  EXPECT_EQ(untrusted.code, "R397");
  EXPECT_EQ(untrusted.kind, ErrorKind::kRejected);
  const Error silent = unanswered({ErrorKind::kUnavailable, {}, "timed out", {}}, orders_access());
  EXPECT_EQ(silent.code, "R390");
  EXPECT_EQ(silent.kind, ErrorKind::kUnavailable);
}

}  // namespace
}  // namespace semel::sqs
