#include "clients/api/answer.h"

#include <gtest/gtest.h>

namespace semel::api_client {
namespace {

constexpr const char* kJson = "application/json";
constexpr const char* kProblem = "application/problem+json";

Error error_of(Answer answer) {
  auto document = document_of(std::move(answer), "http://host");
  EXPECT_FALSE(document);
  return document ? Error{} : std::move(document.error());
}

TEST(ApiAnswer, IsADocumentOfOurs) {
  const auto document = document_of({200, kJson, R"({"schema":"semel.v1.jobs","jobs":[]})"}, "");
  ASSERT_TRUE(document);
  EXPECT_EQ(*document, R"({"schema":"semel.v1.jobs","jobs":[]})");
  EXPECT_TRUE(document_of({202, kJson, R"({"schema":"semel.v1.job"})"}, ""));
}

TEST(ApiAnswer, AProblemIsItsError) {
  const Error error =
      error_of({403, kProblem,
                R"({"status":403,"detail":"needs a role","code":"R342","fix":"another token"})"});
  EXPECT_EQ(error.kind, ErrorKind::kRejected);
  EXPECT_EQ(error.code, "R342");
  EXPECT_EQ(error.message, "needs a role");
  EXPECT_EQ(error.hint, "another token");
  const Error late = error_of({504, kProblem, R"({"title":"Gateway Timeout","code":"R345"})"});
  EXPECT_EQ(late.kind, ErrorKind::kUnavailable);
  EXPECT_EQ(late.message, "Gateway Timeout");
}

TEST(ApiAnswer, AnotherServerIsNamed) {
  for (const Answer& answer :
       {Answer{200, "text/html", "<html>"}, Answer{404, "text/plain", "not found\n"},
        Answer{301, "", ""}, Answer{200, kJson, R"({"data":1})"}, Answer{200, kJson, "{"}}) {
    const Error error = error_of(answer);
    EXPECT_EQ(error.code, "R362") << answer.body;
    EXPECT_NE(error.message.find("http://host is not the API of a run"), std::string::npos);
  }
  EXPECT_NE(error_of({500, "text/plain", "internal error\nmore"}).message.find(": internal error"),
            std::string::npos);
}

}  // namespace
}  // namespace semel::api_client
