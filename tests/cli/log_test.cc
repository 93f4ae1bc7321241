// The log as JSON: every line that the real program writes on stderr.
#include <gtest/gtest.h>

#include <csignal>
#include <set>
#include <string>
#include <vector>

#include "tests/cli/program.h"

namespace semel::test {
namespace {

const Words kJsonLog = {"--log-format", "json"};

Words with_json_log(Words words) {
  words.insert(words.end(), kJsonLog.begin(), kJsonLog.end());
  return words;
}

bool is_rfc3339_with_microseconds(const std::string& time) {
  const std::string form = "dddd-dd-ddTdd:dd:dd.ddddddZ";
  if (time.size() != form.size()) return false;
  for (std::size_t i = 0; i < form.size(); ++i) {
    const bool digit = time[i] >= '0' && time[i] <= '9';
    if (form[i] == 'd' ? !digit : time[i] != form[i]) return false;
  }
  return true;
}

// The lines of a log, each found to be an object with what every line has.
std::vector<std::string> lines_of(const std::string& log) {
  const std::set<std::string> levels = {"debug", "info", "warning", "error"};
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < log.size();) {
    const std::size_t end = log.find('\n', at);
    EXPECT_NE(end, std::string::npos) << "a last line without its end: " << log.substr(at);
    if (end == std::string::npos) break;
    const std::string line = log.substr(at, end - at);
    EXPECT_TRUE(is_rfc3339_with_microseconds(json_at(line, "/time"))) << line;
    EXPECT_TRUE(levels.contains(json_at(line, "/level"))) << line;
    EXPECT_NE(json_at(line, "/message"), "(absent)") << line;
    lines.push_back(line);
    at = end + 1;
  }
  return lines;
}

std::vector<std::string> those_with(const std::vector<std::string>& lines, std::string_view pointer,
                                    std::string_view value) {
  std::vector<std::string> found;
  for (const std::string& line : lines) {
    if (json_at(line, pointer) == value) found.push_back(line);
  }
  return found;
}

TEST(JsonLog, EveryLineOfARunIsAnObject) {
  const TestBed bed(payments("{ stdin: {} }"));
  const std::string good = payment("p-1", 1, 5);
  const std::string bad = "{\"id\":\"p-\xc3\xbc-\xff\"}\nnot json\n{\"id\":\"p-2\"}\n";
  const Ran ran = bed.semel(with_json_log({"run", "--once", "-v"}), {.input = good + good + bad});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(ran.out, "") << "the log has it";
  const auto lines = lines_of(ran.err);
  const auto done = those_with(lines, "/outcome", "done");
  ASSERT_EQ(done.size(), 1U) << ran.err;
  EXPECT_EQ(json_at(done[0], "/consumer"), "payments");
  EXPECT_EQ(json_at(done[0], "/level"), "debug");
  EXPECT_EQ(json_at(done[0], "/attempt"), "1");
  const Ran shown = bed.semel({"records", "show", "p-1", "-o", "json"});
  EXPECT_EQ(json_at(done[0], "/key_id"), json_at(shown.out, "/records/0/id")) << shown.out;
  EXPECT_EQ(ran.err.find("p-1"), std::string::npos) << "the key's id, not the key: " << ran.err;
  EXPECT_EQ(those_with(lines, "/outcome", "duplicate").size(), 1U) << ran.err;
  const auto dead = those_with(lines, "/outcome", "dead");
  EXPECT_EQ(dead.size(), 3U) << ran.err;
  EXPECT_EQ(those_with(dead, "/level", "error").size(), 3U) << ran.err;
  EXPECT_EQ(those_with(dead, "/reason", "payload.invalid").size(), 3U) << ran.err;
  EXPECT_NE(json_at(lines.back(), "/message").find("5 deliveries, 1 effect, 1 duplicate, 3 dead"),
            std::string::npos)
      << lines.back();
}

TEST(JsonLog, WithoutAWishItHasTroubles) {
  const TestBed bed(payments("{ stdin: {} }"));
  const StartOptions input{.input = payment("p-1", 1, 5) + "{\"id\":\"p-2\"}\n"};
  const Ran ran = bed.semel(with_json_log({"run", "--once", "-o", "jsonl"}), input);
  const auto lines = lines_of(ran.err);
  EXPECT_TRUE(those_with(lines, "/outcome", "done").empty()) << ran.err;
  EXPECT_EQ(those_with(lines, "/outcome", "dead").size(), 1U) << ran.err;
  EXPECT_EQ(count_of(ran.out, "\"schema\":\"semel.v1.delivery\""), 2U)
      << "documents stay: " << ran.out;
  const Ran quiet = bed.semel(with_json_log({"run", "--once", "-q"}), input);
  EXPECT_EQ(quiet.err, "");
}

TEST(JsonLog, LinesOfManyThreadsDoNotMix) {
  const TestBed bed(payments("{ stdin: {} }") + "    concurrency: 4\n    batch: { max: 3 }\n");
  std::string input;
  constexpr std::size_t kMessages = 2'000;
  for (std::size_t i = 0; i < kMessages; ++i) input += payment("p-" + std::to_string(i), 1, 1);
  const Ran ran = bed.semel(with_json_log({"run", "--once", "-v"}), {.input = input});
  EXPECT_EQ(ran.code, 0);
  const auto lines = lines_of(ran.err);
  EXPECT_EQ(those_with(lines, "/outcome", "done").size(), kMessages);
}

TEST(JsonLog, AMessagesTraceIsNamed) {
  const TestBed bed(payments(kQueue));
  const std::string id = "4bf92f3577b34da6a3ce929d0e0e4736";
  for (const std::string& header : {"traceparent=00-" + id + "-00f067aa0ba902b7-01",
                                    "traceparent=00-" + id + "-0000000000000000-01"}) {
    ASSERT_EQ(bed.semel({"send", "payments", payment("p" + header, 1, 5), "--header", header}).code,
              0);
  }
  const Ran ran = bed.semel(with_json_log({"run", "--once", "-v"}));
  const auto done = those_with(lines_of(ran.err), "/outcome", "done");
  ASSERT_EQ(done.size(), 2U) << ran.err;
  EXPECT_EQ(those_with(done, "/trace_id", id).size(), 1U) << ran.err;
  EXPECT_EQ(those_with(done, "/trace_id", "(absent)").size(), 1U) << "no valid one: " << ran.err;
}

TEST(JsonLog, ErrorsHaveTheirCodeAndFix) {
  const TestBed bed(payments(kQueue));
  const Ran away = bed.semel(with_json_log(
      {"run", "--once", "--set", "store.sqlite.path=" + bed.file("no/such/folder/x.db")}));
  EXPECT_EQ(away.code, 69);
  const auto lines = lines_of(away.err);
  ASSERT_FALSE(lines.empty());
  EXPECT_TRUE(json_at(lines.back(), "/code").starts_with("R2")) << away.err;
  EXPECT_EQ(json_at(lines.back(), "/level"), "error");
  EXPECT_NE(json_at(lines.back(), "/fix"), "(absent)") << away.err;

  const Ran wrong = bed.semel(with_json_log({"run", "--set", "consumers[0].timeot=5s"}));
  EXPECT_EQ(wrong.code, 78);
  const auto errors = lines_of(wrong.err);
  ASSERT_EQ(errors.size(), 1U) << wrong.err;
  EXPECT_EQ(json_at(errors[0], "/code"), "E012");
  EXPECT_NE(json_at(errors[0], "/message").find("timeout"), std::string::npos) << errors[0];
  EXPECT_EQ(json_at(errors[0], "/path"), "consumers[0].timeot") << errors[0];
}

TEST(JsonLog, TheCommandLinesOwnErrorsAreOfItToo) {
  const StartOptions environment{.environment = {"SEMEL_LOG_FORMAT=json"}};
  for (const Words& words : {Words{"rn"}, {"run", "--onec"}, {"version", "-o", "xml"}, {}}) {
    const Ran ran = run(words, environment);
    EXPECT_EQ(ran.code, 2) << ran.err;
    EXPECT_FALSE(lines_of(ran.err).empty());
  }
  EXPECT_FALSE(lines_of(run({"version", "--log-format", "json", "--onec"}).err).empty());
  const Ran neither = run({"version", "--log-format", "xml"});
  EXPECT_EQ(neither.code, 2);
  EXPECT_NE(neither.err.find("--log-format cannot be \"xml\""), std::string::npos) << neither.err;
}

}  // namespace
}  // namespace semel::test
