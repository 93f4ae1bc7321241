#include "clients/sqs/signature.h"

#include <gtest/gtest.h>

namespace semel::sqs {
namespace {

// Amazon's published test suite of Signature Version 4: its credentials, date and scope.
const core::SqsKeys kExampleKeys{"AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", {}};
constexpr const char* kDate = "20150830T123600Z";

Signable example(const std::string& method) {
  Signable made;
  made.method = method;
  made.headers = {{"Host", "example.amazonaws.com"}, {"X-Amz-Date", kDate}};
  return made;
}

std::string signed_by_suite(const Signable& request) {
  const std::string all = authorization(kExampleKeys, {"us-east-1", "service"}, kDate, request);
  EXPECT_TRUE(
      all.starts_with("AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/"
                      "aws4_request, SignedHeaders="))
      << all;
  return all.substr(all.find("SignedHeaders=") + 14);
}

TEST(SqsSignature, IsThatOfAmazonsTestSuite) {
  EXPECT_EQ(signed_by_suite(example("GET")),
            "host;x-amz-date, Signature="
            "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31");
  EXPECT_EQ(signed_by_suite(example("POST")),
            "host;x-amz-date, Signature="
            "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b");
  Signable form = example("POST");
  form.headers.push_back({"Content-Type", "application/x-www-form-urlencoded"});
  form.body = "Param1=value1";
  EXPECT_EQ(signed_by_suite(form),
            "content-type;host;x-amz-date, Signature="
            "ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a");
  Signable query = example("GET");
  query.query = "Param1=value1&Param2=value2";
  EXPECT_EQ(signed_by_suite(query),
            "host;x-amz-date, Signature="
            "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500");
}

// The worked example in Amazon's manual.
TEST(SqsSignature, IsThatOfTheManual) {
  Signable request;
  request.method = "GET";
  request.query = "Action=ListUsers&Version=2010-05-08";
  request.headers = {{"Content-Type", "application/x-www-form-urlencoded; charset=utf-8"},
                     {"Host", "iam.amazonaws.com"},
                     {"X-Amz-Date", kDate}};
  const std::string all = authorization(kExampleKeys, {"us-east-1", "iam"}, kDate, request);
  EXPECT_TRUE(
      all.ends_with("Signature=5d672d79c15b13162d9279b0855cfba6789a8edb4c82c400e06b5924a6f2b5d7"))
      << all;
}

TEST(SqsSignature, BlanksInAValueCountOnce) {
  Signable spaced = example("GET");
  spaced.headers.push_back({"My-Header", "  a   b c  "});
  Signable plain = example("GET");
  plain.headers.push_back({"my-header", "a b c"});
  EXPECT_EQ(signed_by_suite(spaced), signed_by_suite(plain));
}

TEST(SqsSignature, ADateIsWrittenWithoutMarks) {
  EXPECT_EQ(amz_date(UtcTime(std::chrono::milliseconds(1'440'938'160'987))), kDate);
}

}  // namespace
}  // namespace semel::sqs
