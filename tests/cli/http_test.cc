// Messages sent to an endpoint by the real program, through its answers, failures and kills.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "tests/cli/program.h"
#include "tests/support/http_server.h"

namespace semel::test {
namespace {

constexpr std::string_view kConsumer = R"(
    source: {{ queue: {{}} }}
    key: json:/id
    dedup: {{ lease: 60s }}
    retry: {{ attempts: 5, backoff: 10ms..100ms }}
    handler: {{ http: {{ url: "{}", timeout: 60s }} }}
)";

class HttpProgramTest : public testing::Test {
 protected:
  HttpProgramTest() : bed_(fmt::format(kConsumer, server_.url("/send"))) {}

  void send(std::size_t count, std::size_t copies = 1) {
    std::string lines;
    for (std::size_t copy = 0; copy < copies; ++copy) {
      for (std::size_t i = 0; i < count; ++i) lines += fmt::format("{{\"id\":\"k-{}\"}}\n", i);
    }
    const Ran sent = bed_.semel({"send", "payments", "-"}, {.input = lines});
    ASSERT_EQ(sent.code, 0) << sent.err;
  }
  Ran run_once() const {
    return bed_.semel({"run", "--once", "-o", "json"}, {.environment = kNoProxy});
  }
  // How often each key came.
  std::map<std::string, std::size_t> calls() const {
    std::map<std::string, std::size_t> counted;
    for (const auto& request : server_.requests()) ++counted[request.header("idempotency-key")];
    return counted;
  }

  const Words kNoProxy = {"no_proxy=127.0.0.1"};
  HttpServer server_;
  TestBed bed_;
};

TEST_F(HttpProgramTest, EachKeyIsSentOnceHoweverOftenItIsDelivered) {
  send(300, 3);
  const Ran ran = run_once();
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(json_at(ran.out, "/effects"), "300") << ran.out;
  EXPECT_EQ(server_.requests().size(), 300U);
  EXPECT_EQ(calls().size(), 300U);
}

TEST_F(HttpProgramTest, AFailureIsRetriedUnderTheSameKey) {
  server_.on("/send", [](const HttpRequest& request, std::size_t) {
    return request.header("semel-attempt") == "1" ? reply(500, "not yet") : reply(200);
  });
  // Fewer than shut the gate when they fail in a row: a try that all fail at does not count.
  send(8);
  const Ran ran = run_once();
  EXPECT_EQ(ran.code, 0) << ran.err;
  ASSERT_EQ(calls().size(), 8U);
  for (const auto& [key, count] : calls()) EXPECT_EQ(count, 2U) << key;
}

// A service under load: one call in seven fails, messages come twice and thrice.
TEST_F(HttpProgramTest, AnEndpointThatFailsNowAndThenAnswersEachKeyOnce) {
  constexpr std::size_t kKeys = 1'500;
  std::mutex mutex;
  std::map<std::string, int> well;
  std::uint32_t random = 1;
  server_.on("/send", [&](const HttpRequest& request, std::size_t) {
    const std::scoped_lock lock(mutex);
    random = random * 1'664'525U + 1'013'904'223U;
    if ((random >> 16U) % 100 < 15) return reply(503);
    ++well[request.header("idempotency-key")];
    return reply(200);
  });
  send(kKeys);
  send(kKeys / 2);
  const Ran ran =
      bed_.semel({"run", "--once", "-o", "json", "--set", "consumers[0].retry.backoff=1ms..20ms",
                  "--set", "consumers[0].retry.attempts=20"},
                 {.environment = kNoProxy});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(json_at(ran.out, "/effects"), "1500") << ran.out;
  EXPECT_EQ(well.size(), kKeys);
  for (const auto& [key, count] : well) EXPECT_EQ(count, 1) << key;
  EXPECT_EQ(calls().size(), kKeys) << "the same key on each try";
  EXPECT_GT(server_.requests().size(), kKeys) << "or nothing failed";
}

// The first call of each did the work; its answer never came.
TEST_F(HttpProgramTest, ALostAnswerIsAskedForAgainUnderTheSameKey) {
  server_.on("/send", [](const HttpRequest& request, std::size_t) {
    return request.header("semel-attempt") == "1" ? raw("") : reply(200);
  });
  send(2);
  const Ran ran = run_once();
  EXPECT_EQ(ran.code, 0) << ran.err;
  for (const auto& [key, count] : calls()) EXPECT_EQ(count, 2U) << key;
  EXPECT_EQ(json_at(ran.out, "/effects"), "2") << ran.out;
}

TEST_F(HttpProgramTest, WhatIsRefusedIsADeadLetterWithItsStatus) {
  server_.on("/send", reply(422, "no such address"));
  send(3);
  EXPECT_EQ(run_once().code, 0);
  EXPECT_EQ(server_.requests().size(), 3U) << "at once";
  const Ran dead = bed_.semel({"dlq", "list", "--reason", "handler.http.422", "-o", "json"});
  EXPECT_EQ(json_at(dead.out, "/count"), "3") << dead.out;
  EXPECT_NE(dead.out.find("no such address"), std::string::npos) << dead.out;
}

// The endpoint is at fault: nothing becomes a dead letter, and few calls are made.
TEST_F(HttpProgramTest, AnEndpointAtFaultIsLeftAloneUntilItWorks) {
  constexpr std::size_t kMessages = 50;
  constexpr std::chrono::milliseconds kMoved{1'500};
  std::optional<std::chrono::steady_clock::time_point> first;
  server_.on("/send", [&](const HttpRequest&, std::size_t) {
    const auto now = std::chrono::steady_clock::now();
    if (!first) first = now;
    return now - *first < kMoved ? reply(404) : reply(200);
  });
  send(kMessages);
  const Ran ran = run_once();
  // Each once at first, one alone after a while, and each once more. By the retry policy alone it
  // would be each at least ten times.
  EXPECT_LE(server_.requests().size(), 3 * kMessages);
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(json_at(ran.out, "/effects"), "50") << ran.out;
  EXPECT_EQ(json_at(bed_.semel({"dlq", "list", "-o", "json"}).out, "/count"), "0");
}

// A firewall that dislikes one payload, an order that is not there, a subscriber who is gone.
TEST_F(HttpProgramTest, OneMessageOfManyThatIsDeniedIsADeadLetterAndStopsNobody) {
  for (const int status : {403, 404, 410}) {
    SCOPED_TRACE(status);
    std::string lines;
    for (int i = 0; i < 200; ++i) lines += fmt::format("{{\"id\":\"{}-{}\"}}\n", status, i);
    ASSERT_EQ(bed_.semel({"send", "payments", "-"}, {.input = lines}).code, 0);
    const std::string bad = fmt::format("\"{}-100\"", status);
    server_.on("/send", [status, bad](const HttpRequest& request, std::size_t) {
      return reply(request.header("idempotency-key") == bad ? status : 200);
    });
    const Ran ran =
        bed_.semel({"run", "--once", "-o", "json", "--set", "consumers[0].in_flight.messages=50",
                    "--set", "consumers[0].retry.max_elapsed=60s"},
                   {.environment = kNoProxy});
    EXPECT_EQ(ran.code, 0) << ran.err;
    EXPECT_EQ(json_at(ran.out, "/effects"), "199") << ran.out;
    EXPECT_EQ(calls()[bad], 1U + 5U) << "the first try does not count";
    EXPECT_EQ(count_of(ran.err, "nothing is begun for"), 1U) << ran.err;
    EXPECT_EQ(ran.err.find("paused"), std::string::npos) << ran.err;
    const Ran dead = bed_.semel(
        {"dlq", "list", "--reason", fmt::format("handler.http.{}", status), "-o", "json"});
    EXPECT_EQ(json_at(dead.out, "/count"), "1") << dead.out;
    EXPECT_NE(dead.out.find("attempts.exhausted"), std::string::npos) << dead.out;
  }
  EXPECT_EQ(calls().size(), 600U);
}

TEST_F(HttpProgramTest, AKilledProgramCallsAgainUnderTheSameKey) {
  HttpReply never = raw("", HttpReply::Then::kHang);
  server_.on("/send", never);
  send(5);
  {
    Program program({"run", "-c", bed_.config()}, {.environment = kNoProxy});
    ASSERT_TRUE(server_.wait_requests(5));
    program.signal(SIGKILL);
    EXPECT_EQ(program.wait().signal, SIGKILL);
  }
  server_.on("/send", reply(200));
  const Ran ran = run_once();
  EXPECT_EQ(ran.code, 0) << ran.err;
  ASSERT_EQ(calls().size(), 5U);
  for (const auto& [key, count] : calls()) EXPECT_EQ(count, 2U) << key;
}

TEST_F(HttpProgramTest, ADrainWaitsForWhatIsOnItsWay) {
  HttpReply held = reply(200);
  held.after_requests = 1'000;
  server_.on("/send", held);
  send(5);
  Program program({"run", "-c", bed_.config()}, {.environment = kNoProxy});
  ASSERT_TRUE(server_.wait_requests(5));
  program.signal(SIGTERM);
  server_.release();
  const Ran ended = program.wait();
  EXPECT_EQ(ended.code, 0) << ended.err;
  const Ran rest = run_once();
  EXPECT_EQ(json_at(rest.out, "/effects"), "0") << rest.out;
  for (const auto& [key, count] : calls()) EXPECT_EQ(count, 1U) << key;
}

}  // namespace
}  // namespace semel::test
