// Redis joins the suites: each place is a prefix of its own on a real server, which is
// asked plainly and by TLS.
#include <semel/redis.h>

#include <fmt/format.h>

#include <filesystem>

#include "stores/redis/store.h"
#include "tests/conformance/store_model.h"
#include "tests/support/redis_server.h"
#include "tests/support/temp_dir.h"
#include "tests/support/tls.h"

namespace semel::conformance {
namespace {

// With a certificate of its own, which it is known by.
class TlsServer {
 public:
  static const TlsServer& shared() {
    static const TlsServer server;
    return server;
  }
  const test::RedisServer& server() const { return *server_; }
  std::string url() const {
    return fmt::format("rediss://127.0.0.1:{}?tls-ca={}", port_, file("host.pem"));
  }

 private:
  TlsServer() {
    using std::filesystem::perms;
    const test::TlsIdentity identity;
    test::write_file(file("host.pem"), identity.certificate());
    test::write_file(file("host.key"), identity.private_key());
    // The server's user reads them.
    const perms read = perms::others_read | perms::group_read;
    std::filesystem::permissions(folder_.path(), perms::owner_all | read | perms::others_exec);
    for (const char* name : {"host.pem", "host.key"}) {
      std::filesystem::permissions(file(name), perms::owner_read | perms::owner_write | read);
    }
    test::RedisServer::Options options = test::RedisServer::fast();
    for (const std::string& word :
         {std::string("--tls-port"), std::to_string(port_), std::string("--tls-cert-file"),
          file("host.pem"), std::string("--tls-key-file"), file("host.key"),
          std::string("--tls-ca-cert-file"), file("host.pem"), std::string("--tls-auth-clients"),
          std::string("no")}) {
      options.arguments.push_back(word);
    }
    server_ = std::make_unique<test::RedisServer>(std::move(options));
  }
  std::string file(const std::string& name) const { return folder_.file(name); }

  test::TempDir folder_;
  const int port_ = test::free_port();
  std::unique_ptr<test::RedisServer> server_;
};

class RedisPlace final : public StorePlace {
 public:
  RedisPlace(const test::RedisServer& its_server, std::string url)
      : server_(its_server), url_(std::move(url)), prefix_(its_server.new_database() + ":") {
    server().run({"EVAL",
                  "local t = redis.call('TIME') redis.call('HSET', ARGV[1], 'since', "
                  "t[1] * 1000000 + t[2], 'moved', 0)",
                  "0", clock()});
  }

  std::unique_ptr<Store> open() override {
    RedisOptions options;
    options.url = url_;
    options.prefix = prefix_;
    redis::InnerOptions inner;
    // By itself it passes slowly: on a busy machine a test takes longer than what it measures.
    inner.clock = fmt::format(
        "(function() local t = redis.call('TIME') local c = redis.call('HMGET', '{}', 'since', "
        "'moved') return math.floor(c[1] + c[2] + (t[1] * 1000000 + t[2] - c[1]) / 10) end)()",
        clock());
    auto store = redis::open_store(std::move(options), inner);
    EXPECT_TRUE(store.has_value()) << (store ? "" : store.error().message);
    return store ? std::move(*store) : nullptr;
  }
  // What expires by the server's own clock is that much nearer to its end.
  void advance(milliseconds by) override {
    server().query(fmt::format("HINCRBY {} moved {}", clock(), by.count() * 1000));
    server().run({"EVAL",
                  "for _, key in ipairs(redis.call('KEYS', ARGV[1])) do "
                  "local left = redis.call('PTTL', key) "
                  "if left >= 0 then redis.call('PEXPIRE', key, math.max(left - ARGV[2], 0)) end "
                  "end",
                  "0", prefix_ + "*", std::to_string(by.count())});
  }
  // As if the time were over in which it would have had to give a sign.
  void notice_death(pid_t pid) override {
    server().run({"EVAL",
                  "for _, key in ipairs(redis.call('KEYS', ARGV[1])) do "
                  "if redis.call('GET', key) == ARGV[2] then redis.call('DEL', key) end end",
                  "0", prefix_ + "{store}alive:*", std::to_string(pid)});
  }
  bool has_transactions() override { return false; }

 private:
  const test::RedisServer& server() const { return server_; }
  std::string clock() const { return prefix_ + "clock"; }

  const test::RedisServer& server_;
  const std::string url_;
  const std::string prefix_;
};

std::unique_ptr<StorePlace> plainly() {
  const auto& server = test::RedisServer::shared();
  return std::make_unique<RedisPlace>(server, server.url());
}

std::unique_ptr<StorePlace> by_tls() {
  const auto& tls = TlsServer::shared();
  return std::make_unique<RedisPlace>(tls.server(), tls.url());
}

// It has no transactions (semel/redis.h): their suites are not its own.
const auto kRedis = testing::Values(StoreCase{"redis", plainly}, StoreCase{"redis_tls", by_tls});

INSTANTIATE_TEST_SUITE_P(Redis, StoreSuite, kRedis, testing::PrintToStringParamName());
INSTANTIATE_TEST_SUITE_P(Redis, StoreModelSuite, kRedis, testing::PrintToStringParamName());
INSTANTIATE_TEST_SUITE_P(Redis, HeldSuite, kRedis, testing::PrintToStringParamName());
INSTANTIATE_TEST_SUITE_P(Redis, DeadLetterSuite, kRedis, testing::PrintToStringParamName());
INSTANTIATE_TEST_SUITE_P(Redis, RunMarkersSuite, kRedis, testing::PrintToStringParamName());
INSTANTIATE_TEST_SUITE_P(Redis, HeldLinesSuite, kRedis, testing::PrintToStringParamName());
INSTANTIATE_TEST_SUITE_P(Redis, PositionsSuite, kRedis, testing::PrintToStringParamName());
INSTANTIATE_TEST_SUITE_P(Redis, GatesSuite, kRedis, testing::PrintToStringParamName());
INSTANTIATE_TEST_SUITE_P(Redis, RecordsSuite, kRedis, testing::PrintToStringParamName());

}  // namespace
}  // namespace semel::conformance
