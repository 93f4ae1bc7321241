// The handler against an HTTP/2 server (nghttpd), over TLS: many calls, one connection.
#include <fmt/format.h>

#include <set>

#include "handlers/http/test_calls.h"
#include "tests/support/child_process.h"
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

}  // namespace
}  // namespace semel::handlers
