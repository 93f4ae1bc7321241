#include "cli/remote.h"

#include <gtest/gtest.h>

namespace semel::cli {
namespace {

constexpr const char* kDocument =
    "{ \"schema\": \"semel.v1.x\", \"since\": \"1970-01-01T00:00:01.500Z\",\n \"error\": "
    "\"1970-01-01T00:00:01.500Z\", \"list\": [ { \"dead_at\": \"1970-01-01T00:00:00.001Z\" } ], "
    "\"until\": null, \"say \\\"since\\\"\": \"x\" }\n";

TEST(Remote, TimesAreInTheStyleThatIsAskedFor) {
  Settings settings;
  settings.time = TimeStyle::kRaw;
  const Console raw(settings);
  EXPECT_EQ(in_style(kDocument, raw),
            R"({"schema":"semel.v1.x","since":"1500","error":"1970-01-01T00:00:01.500Z",)"
            R"("list":[{"dead_at":"1"}],"until":null,"say \"since\"":"x"})");
  const Console iso({});
  EXPECT_NE(in_style(kDocument, iso).find(R"("since":"1970-01-01T00:00:01.500Z")"),
            std::string::npos);
}

TEST(Remote, AQueryIsEscapedAndHasNothingEmpty) {
  EXPECT_EQ(QueryText("jobs").text(), "jobs");
  EXPECT_EQ(QueryText("dead-letters")
                .add("consumer", "")
                .add("where", "age>1h and key=a&b")
                .add("limit", "3")
                .text(),
            "dead-letters?where=age%3E1h%20and%20key%3Da%26b&limit=3");
}

}  // namespace
}  // namespace semel::cli
