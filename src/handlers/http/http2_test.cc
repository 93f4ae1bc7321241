// The handler over HTTP/2 and TLS: many calls, one connection; against nghttpd, and against a
// server that leaves.
#include <fmt/format.h>

#include <optional>
#include <set>

#include <semel/reason.h>

#include "handlers/http/test_calls.h"
#include "tests/support/child_process.h"
#include "tests/support/http2_server.h"
#include "tests/support/server_address.h"
#include "tests/support/temp_dir.h"
#include "tests/support/tls.h"

namespace semel::handlers {
namespace {

using Kind = Verdict::Kind;

class Http2Test : public HttpCalls {
 protected:
  void SetUp() override {
    test::write_file(folder_.file("key.pem"), identity_.private_key());
    test::write_file(folder_.file("cert.pem"), identity_.certificate());
    spec_.ca_file = folder_.file("cert.pem");
    const int port = test::free_port();
    server_process_.emplace(test::ChildProcess::run(
        {"nghttpd", "-v", "--echo-upload", "-a", "127.0.0.1", std::to_string(port),
         folder_.file("key.pem"), folder_.file("cert.pem")}));
    spec_.url = fmt::format("https://127.0.0.1:{}/send", port);
    const auto line = server_process_->line(std::chrono::seconds(60));
    ASSERT_TRUE(line && line->find("listen") != line->npos)
        << "nghttpd does not listen; it is in the package nghttp2-server";
  }

  test::TempDir folder_;
  test::TlsIdentity identity_;
  std::optional<test::ChildProcess> server_process_;
};

TEST_F(Http2Test, CallsShareOneConnection) {
  constexpr int kCalls = 20;
  std::vector<std::unique_ptr<Call>> calls;
  for (int i = 0; i < kCalls; ++i) {
    calls.push_back(begin(fmt::format("k-{}", i), fmt::format(R"({{"n":{}}})", i)));
  }
  for (int i = 0; i < kCalls; ++i) {
    const Verdict verdict = calls[static_cast<std::size_t>(i)]->verdict();
    EXPECT_EQ(verdict.kind(), Kind::kDone);
    EXPECT_EQ(verdict.result(), fmt::format(R"({{"n":{}}})", i)) << "the body came back";
  }
  server_process_->terminate();
  // nghttpd logs each frame: "[id=1] [  0.015] recv HEADERS frame <…>", and its headers.
  std::set<std::string> connections;
  std::set<std::string> keys;
  while (const auto line = server_process_->line()) {
    const auto id = line->find("[id=");
    if (id != line->npos && line->find("recv HEADERS frame") != line->npos) {
      connections.insert(line->substr(id, line->find(']', id) - id));
    }
    const auto key = line->find("idempotency-key: ");
    if (key != line->npos) keys.insert(line->substr(key));
  }
  EXPECT_EQ(connections.size(), 1U);
  EXPECT_EQ(keys.size(), static_cast<std::size_t>(kCalls));
}

class Http2FaultsTest : public HttpCalls {
 protected:
  void serve(test::Http2Server::Script script) {
    leaving_.emplace(std::move(script));
    test::write_file(folder_.file("cert.pem"), leaving_->certificate());
    spec_.ca_file = folder_.file("cert.pem");
    spec_.url = leaving_->url();
  }
  // So many calls at a time.
  std::vector<Verdict> calls(int count) {
    std::vector<std::unique_ptr<Call>> begun;
    for (int i = 0; i < count; ++i) {
      begun.push_back(begin(fmt::format("k-{}", ++keys_), fmt::format("{}", keys_)));
    }
    std::vector<Verdict> verdicts;
    for (const auto& call : begun) verdicts.push_back(call->verdict());
    return verdicts;
  }

  test::TempDir folder_;
  std::optional<test::Http2Server> leaving_;
  int keys_ = 0;
};

// A server that restarts says which streams it has not looked at, and finishes the others. libcurl
// repeats a refused one by itself, unless its connection closed meanwhile.
TEST_F(Http2FaultsTest, ARefusedStreamLeavesNoDoubt) {
  constexpr std::uint32_t kFirst = 1;
  constexpr std::size_t kCalls = 4;
  constexpr std::uint32_t kLast = 7;  // streams have odd numbers
  serve([](const test::Http2Request& request) -> test::Http2Reply {
    if (request.connection > 0) return {test::http2_answer(request.stream)};
    if (request.stream < kLast) return {};
    return {test::http2_go_away(kFirst) + test::http2_answer(kFirst)};
  });
  std::size_t done = 0;
  for (const Verdict& verdict : calls(kCalls)) {
    if (verdict.kind() == Kind::kDone) {
      ++done;
      continue;
    }
    EXPECT_EQ(verdict.code(), "handler.http.connect") << verdict.reason();
    EXPECT_FALSE(verdict.unknown());
    EXPECT_FALSE(verdict.counted());
  }
  std::size_t repeated = 0;
  for (const test::Http2Request& request : leaving_->requests()) {
    repeated += request.connection > 0 ? 1 : 0;
  }
  EXPECT_EQ(leaving_->requests().size(), kCalls + repeated);
  EXPECT_EQ(done, 1 + repeated) << "of the first connection only the first stream";
  EXPECT_GT(repeated, 0U);
}

TEST_F(Http2FaultsTest, AStreamThatIsNotRefusedIsNotSentAgain) {
  constexpr std::uint32_t kFirst = 1;
  serve([](const test::Http2Request& request) -> test::Http2Reply {
    if (request.connection > 0) return {test::http2_answer(request.stream)};
    if (request.stream == kFirst) return {};
    return {test::http2_go_away(kFirst), true};
  });
  int unknown = 0;
  for (const Verdict& verdict : calls(2)) {
    if (!verdict.unknown()) continue;
    ++unknown;
    EXPECT_EQ(verdict.code(), "handler.http.reset") << verdict.reason();
    EXPECT_TRUE(verdict.counted());
  }
  EXPECT_EQ(unknown, 1) << "the first stream may have been processed";
  std::string lost;
  std::set<std::string> repeated;
  for (const test::Http2Request& request : leaving_->requests()) {
    if (request.connection > 0) {
      repeated.insert(request.body);
    } else if (request.stream == kFirst) {
      lost = request.body;
    }
  }
  EXPECT_FALSE(repeated.contains(lost));
}

TEST_F(Http2FaultsTest, ARefusedStreamWasNotSent) {
  serve([this](const test::Http2Request& request) -> test::Http2Reply {
    if (request.stream == 1) return {test::http2_answer(request.stream)};
    leaving_->stop_listening();
    return {test::http2_go_away(1)};
  });
  EXPECT_EQ(calls(1)[0].kind(), Kind::kDone);
  const Verdict verdict = calls(1)[0];
  EXPECT_EQ(verdict.kind(), Kind::kRetry);
  EXPECT_EQ(verdict.code(), "handler.http.connect");
  EXPECT_FALSE(verdict.unknown()) << verdict.reason();
  EXPECT_FALSE(verdict.counted());
}

// Its connection stays open, and nothing comes any more: a proxy on the way lost its state.
TEST_F(Http2FaultsTest, ASilentConnectionIsReplaced) {
  serve([](const test::Http2Request& request) -> test::Http2Reply {
    if (request.connection == 0 && request.stream > 1) return {};
    return {test::http2_answer(request.stream)};
  });
  spec_.timeout = std::chrono::seconds(2);
  EXPECT_EQ(calls(1)[0].kind(), Kind::kDone);
  for (const Verdict& verdict : calls(4)) {
    EXPECT_EQ(verdict.code(), reason::kHandlerTimeout) << verdict.reason();
  }
  // A busy machine may need more than one call for it.
  int tries = 1;
  while (calls(1)[0].kind() != Kind::kDone && tries < 10) ++tries;
  EXPECT_LT(tries, 10) << "a new connection works";
  EXPECT_GT(leaving_->connections(), 1U);
}

TEST_F(Http2FaultsTest, CallsThatTimeOutBetweenAnswersKeepTheirConnection) {
  serve([](const test::Http2Request& request) -> test::Http2Reply {
    if (request.body.ends_with('0')) return {test::http2_answer(request.stream)};
    return {};
  });
  spec_.timeout = std::chrono::seconds(2);
  for (int i = 0; i < 2; ++i) {
    (void)calls(2);
    keys_ = 9;
    EXPECT_EQ(calls(1)[0].kind(), Kind::kDone);
  }
  EXPECT_EQ(leaving_->connections(), 1U);
}

}  // namespace
}  // namespace semel::handlers
