#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <thread>

#include "tests/support/http_server.h"
#include "tests/support/set_variable.h"
#include "tests/support/temp_dir.h"
#include "tests/support/tls.h"
#include "traces/span_post.h"

namespace semel::traces {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;
using Kind = PostAnswer::Kind;

class HttpPostTest : public testing::Test {
 protected:
  HttpPostTest() { spec_.url = server_.url("/v1/traces"); }
  SpanPost& post() {
    if (!post_) post_ = make_http_post(spec_).value();
    return *post_;
  }
  PostAnswer answer(const test::HttpReply& reply) {
    server_.on("/v1/traces", reply);
    return post().post("{}");
  }

  const test::SetVariable no_proxy_{"no_proxy", "127.0.0.1"};
  test::HttpServer server_;
  core::TracesSpec spec_;
  std::unique_ptr<SpanPost> post_;
};

TEST_F(HttpPostTest, PostsJsonWithTheHeadersOfTheConfigOverOneConnection) {
  spec_.headers = {{"authorization", "Bearer abc"}, {"x-empty", ""}};
  EXPECT_EQ(answer(test::reply(200, "{}")).kind, Kind::kTaken);
  EXPECT_EQ(post().post(R"({"resourceSpans":[]})").kind, Kind::kTaken);
  const auto requests = server_.requests();
  ASSERT_EQ(requests.size(), 2U);
  EXPECT_EQ(requests[1].method, "POST");
  EXPECT_EQ(requests[1].target, "/v1/traces");
  EXPECT_EQ(requests[1].header("content-type"), "application/json");
  EXPECT_EQ(requests[1].header("authorization"), "Bearer abc");
  EXPECT_EQ(requests[1].header("x-empty"), "");
  EXPECT_TRUE(requests[1].header("user-agent").starts_with("semel/"));
  EXPECT_EQ(requests[1].body, R"({"resourceSpans":[]})");
  EXPECT_EQ(server_.connections(), 1U);
}

TEST_F(HttpPostTest, ReadsWhatWasNotTaken) {
  const PostAnswer partly =
      answer(test::reply(200, R"({"partialSuccess":{"rejectedSpans":"3","errorMessage":"no"}})"));
  EXPECT_EQ(partly.kind, Kind::kTaken);
  EXPECT_EQ(partly.rejected, 3U);
  EXPECT_EQ(partly.error, "no");
  const PostAnswer all = answer(test::reply(202));
  EXPECT_EQ(all.kind, Kind::kTaken);
  EXPECT_EQ(all.rejected, 0U);
}

TEST_F(HttpPostTest, OnlyWhatTheProtocolNamesIsWorthAnotherTry) {
  for (const int status : {429, 502, 503, 504}) {
    EXPECT_EQ(answer(test::reply(status)).kind, Kind::kAway) << status;
  }
  for (const int status : {307, 400, 401, 404, 413, 500, 501}) {
    EXPECT_EQ(answer(test::reply(status, "", "Location: /elsewhere\r\n")).kind, Kind::kRefused)
        << status;
  }
  EXPECT_EQ(answer(test::reply(401, "who are you?")).error, "it answered 401: who are you?");
  for (const auto& request : server_.requests()) EXPECT_EQ(request.target, "/v1/traces");
}

TEST_F(HttpPostTest, ALongAnswerIsReadButNotKept) {
  test::HttpReply endless = test::reply(400, "");
  endless.bytes = "HTTP/1.1 400 Bad\r\nContent-Length: 10000000\r\n\r\n";
  endless.filler = 10'000'000;
  const PostAnswer made = answer(endless);
  EXPECT_EQ(made.kind, Kind::kRefused);
  EXPECT_LT(made.error.size(), 1'000U);
}

TEST_F(HttpPostTest, ReadsForHowLongToWait) {
  const PostAnswer made = answer(test::reply(503, "", "Retry-After: 7\r\n"));
  EXPECT_EQ(made.retry_after, std::chrono::seconds(7));
  EXPECT_FALSE(answer(test::reply(503)).retry_after);
}

TEST_F(HttpPostTest, NobodyListensOrTheConnectionBreaks) {
  EXPECT_EQ(answer(test::raw("", test::HttpReply::Then::kReset)).kind, Kind::kAway);
  {
    test::HttpServer gone;
    spec_.url = gone.url("/v1/traces");
    post_.reset();
  }
  const PostAnswer made = post().post("{}");
  EXPECT_EQ(made.kind, Kind::kAway);
  EXPECT_FALSE(made.error.empty());
}

TEST_F(HttpPostTest, ARequestHasItsTime) {
  spec_.timeout = milliseconds(50);
  EXPECT_EQ(answer(test::raw("", test::HttpReply::Then::kHang)).kind, Kind::kAway);
}

TEST_F(HttpPostTest, APostThatRunsIsGivenUpAtTheEnd) {
  spec_.timeout = std::chrono::hours(1);
  server_.on("/v1/traces", test::raw("", test::HttpReply::Then::kHang));
  SpanPost& hanging = post();
  std::thread end([&] {
    EXPECT_TRUE(server_.wait_requests(1));
    hanging.end_by(steady_clock::now());
  });
  EXPECT_EQ(hanging.post("{}").kind, Kind::kAway);
  end.join();
  EXPECT_EQ(hanging.post("{}").kind, Kind::kAway) << "nor is a later one begun for long";
}

TEST_F(HttpPostTest, ACollectorBehindTlsIsTrustedByItsAuthorityAlone) {
  const test::TlsIdentity identity;
  test::HttpServer collector(&identity);
  const test::TempDir folder;
  test::write_file(folder.file("ca.pem"), identity.certificate());
  spec_.url = collector.url("/v1/traces");
  EXPECT_EQ(post().post("{}").kind, Kind::kAway);
  EXPECT_TRUE(collector.requests().empty());
  spec_.ca_file = folder.file("ca.pem");
  post_.reset();
  EXPECT_EQ(post().post("{}").kind, Kind::kTaken);
}

}  // namespace
}  // namespace semel::traces
