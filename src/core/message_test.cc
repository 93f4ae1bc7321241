#include <semel/message.h>

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

namespace semel {
namespace {

Message message(std::string payload, Headers headers = {}) {
  Message::Parts parts;
  parts.payload = std::move(payload);
  parts.headers = std::move(headers);
  return Message(std::move(parts));
}
template <class T>
std::string problem(const std::string& payload, std::string_view pointer) {
  try {
    message(payload).json<T>(pointer);
    return "";
  } catch (const PayloadInvalid& invalid) {
    EXPECT_EQ(invalid.error().kind, ErrorKind::kRejected);
    return invalid.what();
  }
}

// Compiles without -Wmissing-field-initializers (cmake makes warnings errors).
TEST(MessageParts, NeedOnlyWhatIsGiven) {
  const Message m({.payload = R"({"a":1})"});
  EXPECT_EQ(m.json<int>("/a"), 1);
  EXPECT_FALSE(m.age());
}

TEST(FindHeader, HasNoCaseAndTakesTheFirst) {
  const Headers headers = {{"Idempotency-Key", "a"}, {"idempotency-key", "b"}, {"Empty", ""}};
  EXPECT_EQ(find_header(headers, "IDEMPOTENCY-KEY"), "a");
  EXPECT_EQ(find_header(headers, "empty"), "");
  EXPECT_EQ(find_header(headers, "idempotency"), std::nullopt);
  EXPECT_EQ(find_header({}, "x"), std::nullopt);
  EXPECT_EQ(message("", headers).header("empty"), "");
}

TEST(MessageJson, GivesWhatIsThere) {
  const Message m = message(R"({"i":-5,"s":"x","b":true,"d":1.5,"o":{"n":7},"whole":3.0,"e":1e3})");
  EXPECT_EQ(m.json<int>("/i"), -5);
  EXPECT_EQ(m.json<std::int64_t>("/o/n"), 7);
  EXPECT_EQ(m.json<std::string>("/s"), "x");
  EXPECT_TRUE(m.json<bool>("/b"));
  EXPECT_EQ(m.json<double>("/d"), 1.5);
  EXPECT_EQ(m.json<double>("/i"), -5);
  EXPECT_EQ(m.json<int>("/whole"), 3);
  EXPECT_EQ(m.json<int>("/e"), 1000);
}

TEST(MessageJson, LosesNothingOfANumber) {
  EXPECT_EQ(message("127").json<std::int8_t>(""), 127);
  EXPECT_NE(problem<std::int8_t>("128", ""), "");
  EXPECT_NE(problem<std::int8_t>("-129", ""), "");
  EXPECT_EQ(message("9223372036854775807").json<std::int64_t>(""), INT64_MAX);
  EXPECT_EQ(message("-9223372036854775808").json<std::int64_t>(""), INT64_MIN);
  EXPECT_NE(problem<std::int64_t>("9223372036854775808", ""), "");
  EXPECT_NE(problem<std::int64_t>("1e30", ""), "");
  EXPECT_NE(problem<std::int64_t>("9223372036854775808.0", ""), "");
  EXPECT_NE(problem<std::int64_t>("1e999", ""), "");
  EXPECT_NE(problem<int>("1.5", ""), "");
  EXPECT_EQ(message("9007199254740992").json<double>(""), 9007199254740992.0);
  EXPECT_NE(problem<double>("9007199254740993", ""), "");
  EXPECT_NE(problem<double>("123456789012345678901234567890", ""), "");
  EXPECT_NE(problem<double>("1e999", ""), "");
}

TEST(MessageJson, SaysWhatIsWrong) {
  EXPECT_EQ(problem<int>(R"({"a":"x"})", "/a"),
            "/a of the payload is a string, and an integer is wanted");
  EXPECT_EQ(problem<int>(R"({"a":"x"})", "/b"),
            "/b of the payload is not there, and an integer is wanted");
  EXPECT_NE(problem<std::string>(R"({"a":1})", "/a"), "");
  EXPECT_NE(problem<std::string>(R"({"a":null})", "/a"), "");
  EXPECT_NE(problem<bool>(R"({"a":0})", "/a"), "");
  EXPECT_NE(problem<double>(R"({"a":[]})", "/a"), "");
  EXPECT_NE(problem<double>(R"({"a":"1.5"})", "/a"), "");
  EXPECT_NE(problem<int>("{", "/a"), "");
  EXPECT_NE(problem<int>("", "/a"), "");
  EXPECT_NE(problem<int>("1", "a"), "") << "a pointer without its slash";
  EXPECT_NE(problem<int>(R"({"a":1,"a":2})", "/a"), "") << "which one is meant?";
}

TEST(MessageJson, EachCallReadsItsOwnMessage) {
  const Message one = message(R"({"a":1})"), two = message(R"({"a":2})");
  EXPECT_EQ(one.json<int>("/a"), 1);
  EXPECT_EQ(two.json<int>("/a"), 2);
  EXPECT_EQ(one.json<int>("/a"), 1);
}

}  // namespace
}  // namespace semel
