// Servers that answer badly: each case ends as a verdict with its reason.
#include <fmt/format.h>

#include <atomic>

#include <semel/reason.h>

#include "core/breaker.h"
#include "handlers/http/test_calls.h"
#include "tests/support/server_address.h"

namespace semel::handlers {
namespace {

using std::chrono::milliseconds;
using test::HttpReply;
using Then = test::HttpReply::Then;
using Kind = Verdict::Kind;

class HttpFaultsTest : public HttpCalls {
 protected:
  // Keys that begin so get `status`, and all others 200.
  void deny_only(std::string_view key, int status) {
    const std::string quoted = fmt::format("\"{}", key);
    server_.on("/send", [quoted, status](const test::HttpRequest& request, std::size_t) {
      return test::reply(request.header("idempotency-key").starts_with(quoted) ? status : 200);
    });
    spec_.url = server_.url("/send");
    forget_handler();
  }
  // The gate's news from `first` on, without those of successes.
  std::vector<std::string> but_opened(std::size_t first) const {
    std::vector<std::string> told = gate_.told();
    told.erase(told.begin(), told.begin() + static_cast<std::ptrdiff_t>(first));
    std::erase(told, "open");
    return told;
  }
};

void expect_unknown(const Verdict& verdict, std::string_view code) {
  EXPECT_EQ(verdict.kind(), Kind::kRetry);
  EXPECT_EQ(verdict.code(), code) << verdict.reason();
  EXPECT_TRUE(verdict.unknown()) << verdict.reason();
  EXPECT_TRUE(verdict.counted());
  EXPECT_FALSE(verdict.reason().empty());
}

void expect_not_sent(const Verdict& verdict) {
  EXPECT_EQ(verdict.kind(), Kind::kRetry);
  EXPECT_EQ(verdict.code(), "handler.http.connect") << verdict.reason();
  EXPECT_FALSE(verdict.unknown());
  EXPECT_FALSE(verdict.counted());
  EXPECT_FALSE(verdict.reason().empty());
}

TEST_F(HttpFaultsTest, NobodyListens) {
  spec_.url = fmt::format("http://127.0.0.1:{}/", test::free_port());
  const int enough = core::Breaker::Options{}.failures;
  for (int i = 0; i < enough + 1; ++i) expect_not_sent(call());
  const auto told = gate_.told();
  ASSERT_EQ(told.size(), 2U) << "after several in a row";
  EXPECT_TRUE(told[0].starts_with("shut 1000 ")) << told[0];
  EXPECT_TRUE(told[1].starts_with("shut 2000 ")) << told[1];
}

TEST_F(HttpFaultsTest, ANameThatIsNone) {
  spec_.url = "http://semel.invalid/";
  expect_not_sent(call());
}

TEST_F(HttpFaultsTest, ClosedWithoutAnAnswer) {
  expect_unknown(call_answered(test::raw("")), "handler.http.reset");
  expect_unknown(call_answered(test::raw("", Then::kReset)), "handler.http.reset");
}

// The work was done and the answer was lost. Repeating the request immediately would do it twice.
TEST_F(HttpFaultsTest, AConnectionUsedBeforeThatClosesIsNotTriedAgainInTheDark) {
  std::atomic<bool> closes = false;
  server_.on("/send", [&](const test::HttpRequest&, std::size_t) {
    return closes ? test::raw("") : test::reply(200);
  });
  spec_.url = server_.url("/send");
  for (const auto* payload : {"{}", ""}) {
    closes = false;
    EXPECT_EQ(call("good", payload).kind(), Kind::kDone);
    closes = true;
    const auto before = server_.requests();
    expect_unknown(call("lost", payload), "handler.http.reset");
    const auto after = server_.requests();
    ASSERT_EQ(after.size(), before.size() + 1);
    EXPECT_EQ(after.back().connection, before.back().connection) << "it was used before";
  }
}

TEST_F(HttpFaultsTest, HalfAHeader) {
  expect_unknown(call_answered(test::raw("HTTP/1.1 200 OK\r\nContent-Le")), "handler.http.reset");
}

TEST_F(HttpFaultsTest, HalfABody) {
  expect_unknown(call_answered(test::raw("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf")),
                 "handler.http.reset");
  expect_unknown(call_answered(test::raw(
                     "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n")),
                 "handler.http.reset");
}

TEST_F(HttpFaultsTest, ChunkedRubbish) {
  expect_unknown(
      call_answered(test::raw("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nx\r\n")),
      "handler.http.invalid");
}

TEST_F(HttpFaultsTest, NotHttpAtAll) {
  expect_unknown(call_answered(test::raw("220 mail.example.com ESMTP\r\n")),
                 "handler.http.invalid");
  expect_unknown(call_answered(test::raw("<html>HTTP/0.9 answers so</html>")),
                 "handler.http.invalid");
  expect_unknown(call_answered(test::raw("HTTP/7.3 200 OK\r\n\r\n")), "handler.http.invalid");
}

TEST_F(HttpFaultsTest, AHeaderThatNeverEnds) {
  HttpReply endless = test::raw("HTTP/1.1 200 OK\r\nX-Endless: ", Then::kHang);
  endless.filler = 100 << 20;
  expect_unknown(call_answered(endless), "handler.http.too_large");
}

TEST_F(HttpFaultsTest, HeadersWithoutEnd) {
  std::string lines = "HTTP/1.1 200 OK\r\n";
  for (int i = 0; i < 3'000; ++i) lines += fmt::format("X-{}: {}\r\n", i, std::string(30, 'x'));
  expect_unknown(call_answered(test::raw(lines, Then::kHang)), "handler.http.too_large");
  std::string interim;
  for (int i = 0; i < 4'000; ++i) interim += "HTTP/1.1 100 Continue\r\n\r\n";
  expect_unknown(call_answered(test::raw(interim, Then::kHang)), "handler.http.too_large");
}

TEST_F(HttpFaultsTest, AnAnswerBeyondTheLimitIsNeverCut) {
  spec_.response_limit = 1'000;
  HttpReply large = test::raw("HTTP/1.1 200 OK\r\nContent-Length: 104857600\r\n\r\n", Then::kHang);
  large.filler = 100 << 20;
  const Verdict verdict = call_answered(large);
  EXPECT_EQ(verdict.kind(), Kind::kDead);
  EXPECT_EQ(verdict.code(), "handler.http.too_large");
  EXPECT_NE(verdict.reason().find("longer than 1000 bytes"), std::string::npos) << verdict.reason();
  EXPECT_NE(verdict.reason().find("its effect has happened"), std::string::npos);
  EXPECT_EQ(call_answered(test::reply(200, std::string(1'000, 'a'))).result().size(), 1'000U);
  EXPECT_EQ(call_answered(test::reply(200, std::string(1'001, 'a'))).kind(), Kind::kDead);
}

TEST_F(HttpFaultsTest, ARefusalIsNoLessOneForItsLength) {
  HttpReply large = test::raw("HTTP/1.1 422 No\r\nContent-Length: 104857600\r\n\r\n", Then::kHang);
  large.filler = 100 << 20;
  const Verdict verdict = call_answered(large);
  EXPECT_EQ(verdict.kind(), Kind::kDead);
  EXPECT_EQ(verdict.code(), "handler.http.422");
  EXPECT_LT(verdict.reason().size(), 300U);
}

TEST_F(HttpFaultsTest, NoAnswerInTime) {
  HttpReply slow = test::reply(200, std::string(1'000'000, 'a'));
  slow.every = milliseconds(5);
  for (const HttpReply& reply : {test::raw("", Then::kHang), slow}) {
    spec_.timeout = milliseconds(100);
    Verdict verdict = call_answered(reply);
    // A busy machine may take longer than this to send the request: then the timeout is doubled.
    while (verdict.code() == "handler.http.connect" && spec_.timeout < std::chrono::minutes(1)) {
      spec_.timeout *= 2;
      verdict = call_answered(reply);
    }
    expect_unknown(verdict, reason::kHandlerTimeout);
  }
}

TEST_F(HttpFaultsTest, AByteAfterTheOtherIsAnAnswerToo) {
  HttpReply slow = test::reply(200, "slowly");
  slow.every = milliseconds(1);
  EXPECT_EQ(call_answered(slow).result(), "slowly");
}

TEST_F(HttpFaultsTest, NoHandshakeInTime) {
  spec_.timeout = milliseconds(300);
  server_.greet(test::raw("", Then::kHang));
  spec_.url = fmt::format("https://127.0.0.1:{}/", server_.port());
  expect_not_sent(call());
}

TEST_F(HttpFaultsTest, ARedirectIsNotFollowed) {
  server_.on("/elsewhere", test::reply(200, "wrong"));
  const Verdict verdict = call_answered(
      test::reply(307, "", fmt::format("Location: {}\r\n", server_.url("/elsewhere"))));
  EXPECT_EQ(verdict.kind(), Kind::kRetry);
  EXPECT_EQ(verdict.code(), "handler.http.307");
  EXPECT_FALSE(verdict.counted());
  EXPECT_EQ(server_.requests().size(), 1U);
  ASSERT_EQ(gate_.told().size(), 1U);
  EXPECT_EQ(gate_.told()[0], "shut 1000 endpoint moved to " + server_.url("/elsewhere"));
}

TEST_F(HttpFaultsTest, TheGateFollowsTheEndpoint) {
  int status = 503;
  std::string headers;
  server_.on("/send", [&](const test::HttpRequest&, std::size_t) {
    return test::reply(status, "", headers);
  });
  spec_.url = server_.url("/send");
  headers = "Retry-After: 7\r\n";
  EXPECT_EQ(call().after(), milliseconds(7'000));
  headers = "";
  for (const int refused : {500, 401, 401}) {
    status = refused;
    EXPECT_NE(call().kind(), Verdict::Kind::kDone) << refused;
  }
  status = 410;
  EXPECT_NE(call("k-2").kind(), Verdict::Kind::kDone);
  status = 200;
  EXPECT_EQ(call().kind(), Verdict::Kind::kDone);
  const auto told = gate_.told();
  EXPECT_EQ(told,
            (std::vector<std::string>{
                "shut 7000 the endpoint answered 503", "shut 1000 the endpoint answered 401",
                "shut 2000 the endpoint answered 401", "pause the endpoint answered 410", "open"}));
}

TEST_F(HttpFaultsTest, OneAccountThatIsGoneClosesTheEndpointForNobodyElse) {
  server_.on("/accounts/gone", test::reply(410));
  server_.on("/accounts/missing", test::reply(404));
  server_.on("/accounts/moved", test::reply(301, "", "Location: /elsewhere\r\n"));
  spec_.url = server_.url("/accounts/{json:/account}");
  for (int attempt = 1; attempt < 6; ++attempt) {
    for (const auto* const account : {"gone", "missing", "moved"}) {
      const Verdict verdict = call(account, fmt::format(R"({{"account":"{}"}})", account), attempt);
      EXPECT_EQ(verdict.kind(), Kind::kRetry) << account;
      EXPECT_TRUE(verdict.counted()) << account << ": retry.attempts end it";
    }
  }
  EXPECT_EQ(gate_.told(), std::vector<std::string>{});
  EXPECT_EQ(call("good", R"({"account":"good"})").kind(), Kind::kDone);
}

TEST_F(HttpFaultsTest, APathThatIsNotThereForAnyAccountIsTheEndpointsFault) {
  server_.on("/accounts/9", test::reply(404));
  spec_.url = server_.url("/accounts/{json:/account}");
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(call(fmt::format("k-{}", i), R"({"account":9})").kind(), Kind::kRetry);
  }
  EXPECT_EQ(gate_.told(), std::vector<std::string>{"shut 1000 the endpoint answered 404"});
}

TEST_F(HttpFaultsTest, WhatAnUndoDoesNotFindIsItsMessages) {
  server_.on("/unlock", test::reply(404));
  spec_.url = server_.url("/unlock");
  spec_.undoes = true;
  EXPECT_TRUE(call().counted());
  EXPECT_EQ(gate_.told(), std::vector<std::string>{});
}

// Each message loses at most one attempt, whichever others fail.
TEST_F(HttpFaultsTest, AnEndpointThatBreaksForAllSpendsNobodysTries) {
  server_.on("/send", test::reply(500));
  spec_.url = server_.url("/send");
  constexpr int kMessages = 30;
  for (int i = 0; i < kMessages; ++i) {
    EXPECT_TRUE(call(fmt::format("k-{}", i)).counted()) << "its first try";
  }
  ASSERT_FALSE(gate_.told().empty());
  EXPECT_TRUE(gate_.told().front().starts_with("shut 1000 ")) << gate_.told().front();
  for (int attempt = 2; attempt < 4; ++attempt) {
    for (int i = 0; i < kMessages; ++i) {
      const Verdict verdict = call(fmt::format("k-{}", i), "{}", attempt);
      EXPECT_FALSE(verdict.counted()) << i;
      EXPECT_GT(verdict.after(), milliseconds(1'000))
          << "those that wait at the gate come before it";
    }
  }
}

TEST_F(HttpFaultsTest, AMessageThatBreaksWhereOthersGoWellIsSpent) {
  server_.on("/send", [](const test::HttpRequest& request, std::size_t) {
    return test::reply(request.header("idempotency-key").find("good") == std::string::npos ? 500
                                                                                           : 200);
  });
  spec_.url = server_.url("/send");
  for (int attempt = 1; attempt < 4; ++attempt) {
    for (int i = 0; i < 30; ++i) {
      EXPECT_TRUE(call(fmt::format("bad-{}", i), "{}", attempt).counted()) << i;
      if (attempt > 1) continue;
      EXPECT_EQ(call(fmt::format("good-{}", i)).kind(), Kind::kDone);
    }
  }
  for (const std::string& told : gate_.told()) EXPECT_EQ(told, "open");
}

// A firewall that dislikes one payload, or an order that is not there.
TEST_F(HttpFaultsTest, AMessageThatIsDeniedWhereOthersGoWellIsSpentAndShutsTheGateOnce) {
  for (const int status : {302, 401, 403, 404, 405, 407, 410}) {
    SCOPED_TRACE(status);
    deny_only("bad", status);
    const auto before = gate_.told().size();
    for (int i = 0; i < 20; ++i) (void)call(fmt::format("good-{}", i));
    EXPECT_FALSE(call("bad").counted()) << "all messages may be denied";
    for (int i = 20; i < 40; ++i) (void)call(fmt::format("good-{}", i));
    for (int attempt = 1; attempt < 9; ++attempt) {
      const Verdict verdict = call("bad", "{}", attempt);
      EXPECT_TRUE(verdict.counted()) << attempt;
      EXPECT_EQ(verdict.code(), reason::http_reason(std::to_string(status)));
    }
    EXPECT_EQ(but_opened(before),
              std::vector<std::string>{fmt::format("shut 1000 the endpoint answered {}", status)});
  }
}

TEST_F(HttpFaultsTest, AnEndpointThatDeniesEachMessageSpendsNoTry) {
  for (const int status : {403, 404}) {
    SCOPED_TRACE(status);
    const auto before = gate_.told().size();
    server_.on("/send", test::reply(status));
    spec_.url = server_.url("/send");
    forget_handler();
    for (int attempt = 1; attempt < 9; ++attempt) {
      for (int i = 0; i < 30; ++i) {
        EXPECT_FALSE(call(fmt::format("k-{}", i)).counted()) << attempt << ": " << i;
      }
    }
    EXPECT_EQ(but_opened(before).size(), 8U * 30U) << "each trial shuts it again";
  }
}

TEST_F(HttpFaultsTest, AnEndpointThatBecomesWrongSpendsNoTry) {
  deny_only("bad", 403);
  (void)call("bad");
  (void)call("good");
  EXPECT_TRUE(call("bad").counted());
  server_.on("/send", test::reply(403));
  for (int i = 0; i < 30; ++i) {
    EXPECT_FALSE(call(fmt::format("k-{}", i)).counted()) << i;
    EXPECT_FALSE(call("bad").counted()) << "others are denied too";
  }
}

// A deployment went wrong while many calls were under way; the last of the good answers were slow.
TEST_F(HttpFaultsTest, ASlowSuccessAmongManyDenialsSpendsFewTries) {
  deny_only("k", 404);
  constexpr int kMessages = 30;
  for (int i = 0; i < kMessages; ++i) (void)call(fmt::format("k-{}", i));
  EXPECT_EQ(call("slow").kind(), Kind::kDone);
  int spent = 0;
  for (int attempt = 1; attempt < 9; ++attempt) {
    for (int i = 0; i < kMessages; ++i) {
      spent += call(fmt::format("k-{}", i), "{}", attempt).counted() ? 1 : 0;
    }
  }
  EXPECT_LT(spent, core::Breaker::Options{}.failures);
}

TEST_F(HttpFaultsTest, TwoMessagesInARowAreToldThatTheEndpointIsGone) {
  server_.on("/send", test::reply(410));
  spec_.url = server_.url("/send");
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(call("k-1").counted());
  EXPECT_FALSE(call("k-2").counted());
  EXPECT_EQ(gate_.told(),
            (std::vector<std::string>{
                "shut 1000 the endpoint answered 410", "shut 2000 the endpoint answered 410",
                "shut 4000 the endpoint answered 410", "pause the endpoint answered 410"}));
}

TEST_F(HttpFaultsTest, WithoutAGateAllIsTheSame) {
  server_.on("/send", test::reply(410));
  spec_.url = server_.url("/send");
  Call alone(test::make_message(ConsumerNumber{1}, "k"));
  handler()(alone.message, alone.attempt,
            Completion([&](auto verdict) { alone.promise.set_value(std::move(verdict)); }));
  EXPECT_EQ(alone.verdict().code(), "handler.http.410");
}

}  // namespace
}  // namespace semel::handlers
