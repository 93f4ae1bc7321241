#include "cli/log_line.h"

#include <gtest/gtest.h>

#include "base/json.h"

namespace semel::cli {
namespace {

constexpr ExactUtcTime kNoon{std::chrono::microseconds(1'772'366'400'250'007)};

std::string at(const std::string& document, std::string_view pointer) {
  json::Document parsed;
  if (!parsed.parse(document)) return "(not JSON)";
  const auto found = parsed.at(json::Pointer::parse(pointer).value());
  const auto* text = found ? std::get_if<std::string>(&*found) : nullptr;
  return text == nullptr ? "(no text)" : *text;
}

TEST(LogLine, SaysWhatIsKnownAndLeavesOutTheRest) {
  LogLine line;
  line.message = "ready";
  EXPECT_EQ(log_text(line, kNoon),
            R"({"time":"2026-03-01T12:00:00.250007Z","level":"info","message":"ready"})");
  line.level = LogLevel::kError;
  line.code = "R207";
  line.consumer = "payments";
  line.attempt = 2;
  line.took = std::chrono::microseconds(1'500);
  line.line = 7;
  EXPECT_EQ(
      log_text(line, kNoon),
      R"({"time":"2026-03-01T12:00:00.250007Z","level":"error","message":"ready","code":"R207",)"
      R"("consumer":"payments","attempt":2,"took_us":1500,"line":7})");
}

TEST(LogLine, AnyBytesAreOneLineOfJson) {
  LogLine line;
  line.message = "quote \" backslash \\ line\nend\r nul";
  line.message += std::string("\0\x1b[31m\x7f", 7);
  line.consumer = "half \xc3, over \xf0\x9f\x98\x80, bad \xff\xfe, turned \xe2\x80\xae";
  const std::string text = log_text(line, kNoon);
  EXPECT_EQ(text.find('\n'), std::string::npos);
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_EQ(text.find("\xe2\x80\xae"), std::string::npos) << "it would turn a terminal's line";
  EXPECT_EQ(at(text, "/message"), line.message);
  EXPECT_EQ(at(text, "/consumer"),
            "half \xef\xbf\xbd, over \xf0\x9f\x98\x80, bad \xef\xbf\xbd\xef\xbf\xbd, turned "
            "\xe2\x80\xae");
}

TEST(LogLine, ATextForPeopleKeepsItsCodeAndLosesTheProgramsName) {
  const LogLine plain = log_line(LogLevel::kInfo, "semel: ready\n");
  EXPECT_EQ(plain.message, "ready");
  EXPECT_EQ(plain.code, "");
  const LogLine warned = log_line(LogLevel::kInfo, "warning[D131] store: fsync = off");
  EXPECT_EQ(warned.level, LogLevel::kWarning);
  EXPECT_EQ(warned.code, "D131");
  EXPECT_EQ(warned.message, "store: fsync = off");
  const LogLine failed = log_line(LogLevel::kInfo, "error[R301]: gone");
  EXPECT_EQ(failed.level, LogLevel::kError);
  EXPECT_EQ(failed.message, "gone");
  EXPECT_EQ(log_line(LogLevel::kInfo, "warning[D131]").message, "");
  EXPECT_EQ(log_line(LogLevel::kInfo, "warning[").message, "warning[");
}

TEST(LogLine, ADeliveryIsNamedByItsKeysIdAndItsTrace) {
  Message::Parts parts;
  parts.key.text = "ada@example.org";
  parts.payload = "a secret";
  parts.headers = {{"Traceparent", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00"}};
  const Delivery delivery(Message(std::move(parts)), {});
  tap::EndingView ending;
  ending.consumer = "payments";
  ending.key = "ada@example.org";
  ending.payload = "a secret";
  ending.outcome = Outcome::Kind::kRetry;
  ending.reason = "handler.timeout";
  ending.error = "it took too long";
  const LogLine line = log_line(ending, &delivery);
  EXPECT_EQ(line.level, LogLevel::kWarning);
  EXPECT_EQ(line.message, "retry: handler.timeout: it took too long");
  EXPECT_EQ(line.key_id, std::string(2 * KeyId{}.view().size(), '0'));
  EXPECT_EQ(line.trace_id, "4bf92f3577b34da6a3ce929d0e0e4736");
  const std::string text = log_text(line, kNoon);
  EXPECT_EQ(text.find("ada"), std::string::npos) << text;
  EXPECT_EQ(text.find("secret"), std::string::npos) << text;
}

TEST(LogLine, ADuplicateIsNoTrouble) {
  tap::EndingView ending;
  for (const auto& [outcome, level] : std::initializer_list<std::pair<Outcome::Kind, LogLevel>>{
           {Outcome::Kind::kDone, LogLevel::kDebug},
           {Outcome::Kind::kDuplicate, LogLevel::kDebug},
           {Outcome::Kind::kConflict, LogLevel::kWarning},
           {Outcome::Kind::kDead, LogLevel::kError},
           {Outcome::Kind::kParked, LogLevel::kError}}) {
    ending.outcome = outcome;
    EXPECT_EQ(log_line(ending, nullptr).level, level) << to_string(outcome);
  }
}

}  // namespace
}  // namespace semel::cli
