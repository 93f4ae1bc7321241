// A Redis server behind TLS, with certificates made here.
#include "tests/support/tls.h"

#include <fmt/format.h>

#include "stores/redis/test_place.h"
#include "stores/redis/wire.h"

namespace semel::redis {
namespace {

using test::RedisServer;
using test::TlsIdentity;

class RedisTls : public ::testing::Test {
 protected:
  RedisTls() {
    files_.add("host", TlsIdentity());
    files_.add("other", TlsIdentity("DNS:example.com"));
  }
  // With the certificate of that name.
  std::unique_ptr<RedisServer> server(const std::string& identity, bool asks_clients = false) {
    RedisServer::Options options = RedisServer::fast();
    test::add_tls(options.arguments,
                  {port_, files_.file(identity + ".pem"), files_.file(identity + ".key"),
                   files_.file("host.pem"), asks_clients});
    return std::make_unique<RedisServer>(std::move(options));
  }
  std::string url(const std::string& options) const {
    return fmt::format("rediss://127.0.0.1:{}?{}", port_, options);
  }
  Result<std::unique_ptr<Store>> open(const std::string& with) const {
    RedisOptions options;
    options.url = url(with);
    return open_redis(options);
  }
  std::string trusted(const std::string& name = "host") const {
    return "tls-ca=" + files_.file(name + ".pem");
  }

  const test::TlsFiles files_;
  const int port_ = test::free_port();
};

TEST_F(RedisTls, AServerWhoseCertificateNamesItIsSpokenTo) {
  const auto redis = server("host");
  TestPlace place(*redis, url(trusted()));
  const Message m = place.message("k");
  const Lease lease = place.acquire(m);
  EXPECT_EQ(place.finish(test::completed(lease, Bytes(3 << 20, 'r'))).value(), Applied::kYes)
      << "what is larger than a record of TLS, and than the socket's buffers";
  const auto claim = place.try_claim(m);
  ASSERT_TRUE(claim.has_value()) << claim.error().message;
  EXPECT_EQ(std::get<Completed>(*claim).result, Bytes(3 << 20, 'r'));
}

TEST_F(RedisTls, ConnectionsAreKeptAndUsedAgain) {
  const auto redis = server("host");
  TestPlace place(*redis, url(trusted()));
  const auto connected = [&] {
    const std::string info = redis->query("INFO stats");
    return std::stoi(info_field(info, "total_connections_received"));
  };
  const int before = connected();
  for (int i = 0; i < 20; ++i) place.acquire(place.message(fmt::format("k{}", i)));
  EXPECT_EQ(connected(), before + 1) << "the one that asks";
}

TEST_F(RedisTls, ManyAnswersAtOnceAreAllRead) {
  const auto redis = server("host");
  const Target target = target_of(url(trusted()));
  Wire wire(target);
  const std::string large(100'000, 'x');
  constexpr int kTimes = 200;
  for (int i = 0; i < kTimes; ++i) wire.send({"ECHO", large});
  const auto replies = wire.run(Loss::kNothingDone);
  ASSERT_EQ(replies.size(), std::size_t{kTimes});
  for (const Reply& reply : replies) EXPECT_EQ(reply.bytes.size(), large.size());
  EXPECT_TRUE(wire.whole());
}

TEST_F(RedisTls, AnothersCertificateIsRefused) {
  const auto redis = server("other");
  const auto wrong_name = open(trusted("other"));
  ASSERT_FALSE(wrong_name.has_value());
  EXPECT_EQ(wrong_name.error().code, "R250");
  EXPECT_NE(wrong_name.error().message.find("mismatch"), std::string::npos)
      << wrong_name.error().message;
  const auto strangers = open(trusted("host"));
  ASSERT_FALSE(strangers.has_value());
  EXPECT_NE(strangers.error().message.find("certificate"), std::string::npos)
      << strangers.error().message;
  EXPECT_FALSE(open("").has_value()) << "the system trusts it no more";
  const auto unchecked = open("tls=on");
  EXPECT_TRUE(unchecked.has_value()) << unchecked.error().message;
}

TEST_F(RedisTls, AServerMayAskForACertificate) {
  const auto redis = server("host", true);
  EXPECT_FALSE(open(trusted()).has_value());
  const auto known = open(trusted() + "&tls-cert=" + files_.file("host.pem") +
                          "&tls-key=" + files_.file("host.key"));
  EXPECT_TRUE(known.has_value()) << known.error().message;
}

TEST_F(RedisTls, FilesThatCannotBeReadAreForAPersonToMend) {
  const auto redis = server("host");
  files_.write("nonsense.pem", "nonsense");
  for (const std::string& options :
       {std::string("tls-ca=/nowhere.pem"), trusted("nonsense"), trusted() + "&tls-cert=/nowhere",
        trusted() + "&tls-cert=" + files_.file("host.pem") + "&tls-key=/nowhere"}) {
    const auto store = open(options);
    ASSERT_FALSE(store.has_value()) << options;
    EXPECT_EQ(store.error().code, "R259") << store.error().message;
    EXPECT_EQ(store.error().kind, ErrorKind::kRejected);
  }
}

TEST_F(RedisTls, AServerWithoutTlsIsNotSpokenToInTheClear) {
  const RedisServer plain(RedisServer::fast());
  RedisOptions options;
  options.url = fmt::format("rediss://127.0.0.1:{}?connect-timeout=2", plain.port());
  const auto store = open_redis(options);
  ASSERT_FALSE(store.has_value());
  EXPECT_EQ(store.error().code, "R250") << store.error().message;
  EXPECT_EQ(store.error().kind, ErrorKind::kUnavailable);
}

TEST_F(RedisTls, AConnectionThatTheServerEndsIsNotUsedAgain) {
  const auto redis = server("host");
  TestPlace place(*redis, url(trusted()));
  place.acquire(place.message("a"));
  redis->query("CLIENT KILL TYPE normal");
  place.acquire(place.message("b"));
  redis->kill();
  const auto claim = place.try_claim(place.message("c"));
  ASSERT_FALSE(claim.has_value());
  EXPECT_EQ(claim.error().code, "R250");
  redis->start();
  place.acquire(place.message("d"));
}

}  // namespace
}  // namespace semel::redis
