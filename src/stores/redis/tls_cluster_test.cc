// A Cluster whose nodes use TLS: the ports that it reports are those of TLS too.
#include <fmt/format.h>

#include <optional>
#include <set>
#include <sstream>
#include <string>

#include "stores/redis/test_place.h"
#include "tests/support/redis_cluster.h"
#include "tests/support/tls.h"

namespace semel::redis {
namespace {

using test::RedisCluster;

constexpr int kManyKeys = 60;

class RedisTlsCluster : public ::testing::Test {
 protected:
  RedisTlsCluster() { files_.add("host", test::TlsIdentity()); }

  void start(int node_timeout_ms = RedisCluster::kCalmTimeoutMs) {
    cluster_.emplace(node_timeout_ms, std::vector<std::string>{},
                     RedisCluster::Tls{files_.file("host.pem"), files_.file("host.key")});
    options_.url = cluster_->tls_url() + "?timeout=60&tls-ca=" + files_.file("host.pem");
    options_.prefix = cluster_->new_prefix();
  }
  void open() {
    auto store = open_redis(options_);
    ASSERT_TRUE(store.has_value()) << store.error().message;
    store_ = *std::move(store);
    consumer_ = store_->attach({"payments", "recipe", false, {}}).value();
  }
  std::vector<Message> messages(const char* name) const {
    return test::make_messages(consumer_, name, kManyKeys);
  }
  Result<std::vector<Claim>> claim(const std::vector<Message>& messages) {
    return store_->claim(test::pointers(messages), {60s, {}, false});
  }
  void handle(const std::vector<Message>& messages) {
    const auto claims = claim(messages);
    ASSERT_TRUE(claims.has_value()) << claims.error().message;
    std::vector<Finish> batch;
    for (const Claim& one : *claims) {
      ASSERT_TRUE(std::holds_alternative<Acquired>(one)) << one.index();
      batch.push_back(test::completed(std::get<Acquired>(one).lease));
    }
    const auto ended = store_->finish(batch);
    ASSERT_TRUE(ended.has_value()) << ended.error().message;
    for (const Applied applied : *ended) EXPECT_EQ(applied, Applied::kYes);
  }
  void expect_completed(const std::vector<Message>& messages) {
    const auto claims = claim(messages);
    ASSERT_TRUE(claims.has_value()) << claims.error().message;
    for (const Claim& one : *claims) EXPECT_TRUE(std::holds_alternative<Completed>(one));
  }
  // The ports that the store's connections to this node have there.
  static std::set<std::string> ports_asked(int node) {
    std::set<std::string> ports;
    std::istringstream lines(RedisCluster::run_at(node, {"CLIENT", "LIST", "TYPE", "normal"}));
    for (std::string line; std::getline(lines, line);) {
      if (line.find(" name=semel ") == std::string::npos) continue;
      const auto at = line.find(" laddr=127.0.0.1:") + 17;
      ports.insert(line.substr(at, line.find(' ', at) - at));
    }
    return ports;
  }
  static void expect_asked_by_tls(int node) {
    const std::string port = RedisCluster::setting_at(node, "tls-port");
    EXPECT_EQ(ports_asked(node), std::set<std::string>{port});
  }

  const test::TlsFiles files_;
  std::optional<RedisCluster> cluster_;
  RedisOptions options_;
  std::unique_ptr<Store> store_;
  ConsumerNumber consumer_{};
};

TEST_F(RedisTlsCluster, EachNodeIsAskedByTlsAlone) {
  start();
  open();
  const auto first = messages("a");
  handle(first);
  expect_completed(first);
  for (const int node : cluster_->masters()) expect_asked_by_tls(node);
  files_.add("other", test::TlsIdentity());
  RedisOptions stranger = options_;
  stranger.url = cluster_->tls_url() + "?tls-ca=" + files_.file("other.pem");
  const Error refused = error_of_opening(stranger);
  EXPECT_EQ(refused.code, "R250") << refused.message;
  EXPECT_NE(refused.message.find("certificate"), std::string::npos) << refused.message;
}

TEST_F(RedisTlsCluster, AMovedSlotIsFollowedByTls) {
  start();
  open();
  const auto before = messages("a");
  handle(before);
  const std::string name = Names(options_.prefix, true).record(before.front().key().id);
  const int from = cluster_->master_of(name);
  int to = 0;
  for (const int node : cluster_->masters()) {
    if (node != from) to = node;
  }
  cluster_->begin_move(name, to);
  expect_completed(before);
  cluster_->move_names(name, to);
  expect_completed(before);  // where the map still names another (ASK)
  cluster_->end_move(name, to);
  expect_completed(before);
  handle(messages("b"));
  for (const int node : cluster_->masters()) expect_asked_by_tls(node);
}

TEST_F(RedisTlsCluster, AReplicaThatTakesOverIsAskedByTls) {
  start(1'000);
  open();
  const auto before = messages("a");
  handle(before);
  const std::string name = Names(options_.prefix, true).record(before.front().key().id);
  const int killed = cluster_->master_of(name);
  cluster_->wait_for_replica(killed);
  cluster_->node_at(killed).kill();
  expect_completed(before);
  handle(messages("b"));
  const int now = cluster_->master_of(name);
  ASSERT_NE(now, killed);
  expect_asked_by_tls(now);
}

}  // namespace
}  // namespace semel::redis
