// Three brokers, of which one at a time is killed: whoever leads a partition, or looks after the
// group. The run goes on, nothing is lost and nothing done twice.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <csignal>
#include <memory>
#include <string>
#include <vector>

#include "tests/cli/kafka_test_bed.h"
#include "tests/support/kafka_cluster.h"

namespace semel::test {
namespace {

using std::chrono::seconds;

constexpr const char* kShortSession =
    "session.timeout.ms: 3000, heartbeat.interval.ms: 300, topic.metadata.refresh.interval.ms: "
    "1000";

std::size_t rounds() { return soaks() ? 5 : 1; }

class KafkaClusterRun {
 public:
  KafkaClusterRun(DatabaseKind database_kind, const KafkaCluster& cluster)
      : bed_(database_kind, cluster.server(), {.partitions = 6, .properties = kShortSession}) {
    bed_.produce(300);
    for (int i = 0; i < 2; ++i) {
      members_.push_back(std::make_unique<Program>(Words{"run", bed_.config(), "-q"}));
    }
  }

  const KafkaTestBed& bed() const { return bed_; }
  void produce() { bed_.produce(600); }
  bool works() {
    const auto before = bed_.sum();
    produce();
    return comes_true([&] { return bed_.sum() > before; }, seconds(60));
  }
  void expect_all_done(const std::string& what) {
    EXPECT_TRUE(comes_true([&] { return bed_.sum() == bed_.produced_sum(); }, seconds(90)))
        << what << ": " << bed_.sum() << " of " << bed_.produced_sum() << members_[0]->err();
    EXPECT_TRUE(comes_true([&] { return bed_.all_committed(); }, seconds(60))) << what;
    for (const auto& member : members_) EXPECT_TRUE(member->runs()) << what << member->err();
  }
  void finish() {
    for (auto& member : members_) member->signal(SIGTERM);
    for (auto& member : members_) {
      const Ran ran = member->wait();
      EXPECT_EQ(ran.code, 0) << ran.err;
    }
    bed_.expect_each_once();
    bed_.expect_nothing_happens_again();
  }

 private:
  KafkaTestBed bed_;
  std::vector<std::unique_ptr<Program>> members_;
};

// Two groups, each on a store of its own, and one broker away: all that comes meanwhile is done
// before that is back.
TEST(KafkaClusters, LeadersAndCoordinatorsAreKilled) {
  KafkaCluster cluster;
  KafkaClusterRun sqlite(DatabaseKind::kSqlite, cluster);
  KafkaClusterRun postgres(DatabaseKind::kPostgres, cluster);
  const auto kill = [&](KafkaServer& broker, const std::string& what) {
    ASSERT_TRUE(sqlite.works() && postgres.works()) << what;
    broker.kill();
    sqlite.produce();
    postgres.produce();
    sqlite.expect_all_done(what);
    postgres.expect_all_done(what);
    broker.start();
    cluster.wait_in_step(sqlite.bed().topic());
    cluster.wait_in_step(postgres.bed().topic());
  };
  for (std::size_t i = 0; i < rounds(); ++i) {
    kill(cluster.leader_of(sqlite.bed().topic(), 0), "the leader");
    kill(cluster.coordinator_of(postgres.bed().group()), "the coordinator");
  }
  sqlite.finish();
  postgres.finish();
}

}  // namespace
}  // namespace semel::test
