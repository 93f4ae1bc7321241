// A finish that stops between two of its steps on a Cluster, as by a crash: whatever its end was to
// be, the message comes again or is in its right place.
#include "stores/redis/cluster_finish.h"

#include <fmt/format.h>

#include <optional>
#include <ostream>
#include <string>
#include <string_view>

#include <semel/spi/held_messages.h>
#include <semel/spi/step_store.h>
#include <semel/steps.h>

#include "core/failpoints.h"
#include "stores/redis/test_end.h"
#include "stores/redis/test_place.h"
#include "tests/support/child_process.h"
#include "tests/support/redis_cluster.h"
#include "tests/support/test_environment.h"

namespace semel::redis {
namespace {

using test::RedisCluster;

struct StoppedCase {
  Finish::To to;
  std::string_view point;
  bool from_row;
  bool steps = false;  // a step of it is done, and it is being given up
};

void PrintTo(const StoppedCase& how, std::ostream* out) {
  *out << static_cast<int>(how.to) << " at " << how.point << (how.from_row ? ", from a row" : "")
       << (how.steps ? ", with steps" : "");
}

class ClusterFinishStopped : public ::testing::TestWithParam<StoppedCase> {
 protected:
  void SetUp() override {
    const std::string told = cluster_.run_at(cluster_.address().port, {"TIME"});
    const auto end = told.find('\n');
    now_ = std::stoll(told.substr(0, end)) * 1'000'000;
    for (const int port : cluster_.masters()) {
      clocks_.push_back("clock:" + prefix_ + "{" + cluster_.tag_at(port) + "}");
    }
    pass(0ms);
    store_ = open(system_environment());
  }
  std::unique_ptr<Store> open(Environment& environment) {
    RedisOptions options;
    options.url = cluster_.url();
    options.prefix = prefix_;
    options.environment = &environment;
    InnerOptions inner;
    inner.clock = fmt::format(
        "(function() for _, key in ipairs({{'{}'}}) do local at = redis.pcall('GET', key) "
        "if type(at) == 'string' then return tonumber(at) end end end)()",
        fmt::join(clocks_, "','"));
    auto store = open_store(options, inner);
    consumer_ = store.value()->attach({"payments", "recipe", false, {}}).value();
    return *std::move(store);
  }
  void pass(milliseconds by) {
    now_ += by.count() * 1'000;
    for (const std::string& clock : clocks_) cluster_.run({"SET", clock, std::to_string(now_)});
  }
  Claim claim(const Message& message) {
    const Message* one = &message;
    auto claims = store_->claim({&one, 1}, {5s, {}, false});
    EXPECT_TRUE(claims.has_value()) << (claims ? "" : claims.error().message);
    return claims ? claims->front() : Claim(Busy{});
  }
  std::vector<Arrival> take() {
    return store_->facets().held->take(consumer_, 10, 1 << 20, 5s).value();
  }
  // Handles a row as its receiver would: runs it, or removes it according to its claim.
  void meet(const Arrival& arrival, const Message& message) {
    const Claim claimed = claim(message);
    if (std::holds_alternative<Busy>(claimed)) return;
    Finish finish;
    finish.to = Finish::To::kAckOnly;
    finish.ack = arrival.row;
    if (const auto* acquired = std::get_if<Acquired>(&claimed)) {
      finish = test::completed(acquired->lease);
      finish.ack = arrival.row;
      handled_ = true;
    }
    ASSERT_TRUE(store_->finish({&finish, 1}).has_value());
  }
  std::size_t rows() { return store_->facets().held->depth(consumer_).value().rows; }
  std::string state(const Message& message) {
    const auto shown = store_->facets().records->show(message.key().id).value();
    return shown ? std::string(to_string(shown->state)) : "none";
  }

  const RedisCluster& cluster_ = RedisCluster::shared();
  const std::string prefix_ = cluster_.new_prefix();
  std::vector<std::string> clocks_;
  std::int64_t now_ = 0;
  std::unique_ptr<Store> store_;
  ConsumerNumber consumer_{};
  bool handled_ = false;
};

// Claims the message, takes its row where there is one, and ends it up to the point.
int end_and_stop(Store& store, ConsumerNumber consumer, const StoppedCase& how) {
  const Message message = test::make_message(consumer, "k", "payload");
  std::vector<Arrival> taken;
  if (how.from_row) taken = store.facets().held->take(consumer, 10, 1 << 20, 5s).value();
  const Message* one = &message;
  const auto claims = store.claim({&one, 1}, {5s, {}, false}).value();
  Finish finish;
  finish.to = how.to;
  finish.lease = std::get<Acquired>(claims.front()).lease;
  finish.keep = &message;
  finish.delay = 1s;
  finish.reason = "because";
  if (how.steps) {
    StepEntry entry;
    entry.name = "lock";
    if (!store.facets().steps->keep(*finish.lease, entry)) return 1;
    finish.giving_up = GivingUp{"why", "what", 1, 0};
  }
  if (!taken.empty()) {
    finish.arrival = &taken.front();
    finish.ack = taken.front().row;
  }
  return store.finish({&finish, 1}).has_value() ? 0 : 1;
}

TEST_P(ClusterFinishStopped, NothingIsLost) {
  const StoppedCase how = GetParam();
  const auto to = how.to;
  const bool from_row = how.from_row;
  const Message message = test::make_message(consumer_, "k", "payload");
  if (from_row) {
    OutgoingMessage sent;
    sent.key = "k";
    sent.payload = "payload";
    ASSERT_TRUE(store_->facets().held->append(consumer_, {&sent, 1}).has_value());
  }
  auto child = test::ChildProcess::fork([&](test::ChildProcess::Voice&) {
    test::HookedFailpoints stop;
    end_at(stop, how.point);
    Environment environment = system_environment();
    environment.failpoints = &stop;
    return end_and_stop(*open(environment), consumer_, how);
  });
  const auto ended = child.wait();
  ASSERT_TRUE(ended.has_value());
  ASSERT_EQ(ended->code, kEnded) << "it was not stopped";

  // A source that got no settlement brings it again, until it is settled; the store brings its own
  // rows.
  for (int i = 0; i < 20; ++i) {
    pass(10s);
    for (const Arrival& one : take()) meet(one, message);
    if (from_row || handled_) continue;
    const Claim again = claim(message);
    if (const auto* acquired = std::get_if<Acquired>(&again)) {
      const Finish done = test::completed(acquired->lease);
      ASSERT_TRUE(store_->finish({&done, 1}).has_value());
      handled_ = true;
    }
  }
  const std::string found = state(message);
  const StepJournal journal = store_->facets().steps->read(message.key().id).value();
  const bool done = found == "completed";
  EXPECT_EQ(journal.entries.size(), how.steps && !done ? 1U : 0U) << found;
  EXPECT_EQ(journal.giving_up.has_value(), how.steps && found == "parked") << found;
  if (!handled_ && found == "parked") {
    ASSERT_TRUE(store_->facets().records->unlock(message.key().id).value());
    for (const Arrival& one : take()) meet(one, message);
    EXPECT_TRUE(handled_) << "what was parked is not there";
  } else if (!handled_ && found == "dead") {
    EXPECT_EQ(store_->facets().dead_letters->list({}).value().size(), 1U);
  } else {
    EXPECT_EQ(state(message), "completed") << found;
    EXPECT_TRUE(handled_ || to == Finish::To::kCompleted);
  }
  pass(120s);
  for (const Arrival& one : take()) meet(one, message);
  EXPECT_EQ(rows(), 0U);
  const auto findings = store_->facets().records->verify(true).value();
  for (const auto& finding : findings) ADD_FAILURE() << finding.what << ": " << finding.detail;
}

// A failover may lose writes of one node, and keep those of another.
TEST(ClusterFinish, AParkedMessageWhoseRecordIsLostIsTold) {
  const RedisCluster& cluster = RedisCluster::shared();
  RedisOptions options;
  options.url = cluster.url();
  options.prefix = cluster.new_prefix();
  const auto store = open_redis(options).value();
  const ConsumerNumber consumer = store->attach({"payments", "recipe", false, {}}).value();
  const Message message = test::make_message(consumer, "k", "payload");
  const Message* one = &message;
  const auto claims = store->claim({&one, 1}, {5s, {}, false}).value();
  const Finish finish = test::parked(std::get<Acquired>(claims.front()).lease, &message);
  ASSERT_EQ(store->finish({&finish, 1}).value().front(), Applied::kYes);
  EXPECT_TRUE(store->facets().records->verify(true).value().empty());
  cluster.run({"DEL", Names(options.prefix, true).record(message.key().id)});
  const auto findings = store->facets().records->verify(true).value();
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings.front().what, "held.parked_alone");
  EXPECT_TRUE(findings.front().detail.ends_with("semel records unlock \"k\""))
      << findings.front().detail;
}

// The lease is valid when it is checked, and lost when the record is written.
TEST(ClusterFinish, WhatWasSentForALeaseThatIsLostMeanwhileIsTakenBack) {
  const RedisCluster& cluster = RedisCluster::shared();
  test::HookedFailpoints points;
  Environment environment = system_environment();
  environment.failpoints = &points;
  RedisOptions options;
  options.url = cluster.url();
  options.prefix = cluster.new_prefix();
  options.environment = &environment;
  const auto store = open_redis(options).value();
  const ConsumerNumber consumer = store->attach({"payments", "recipe", false, {}}).value();
  const ConsumerNumber relay = store->attach({"relay", "recipe", false, {}}).value();
  const Message message = test::make_message(consumer, "k", "payload");
  const Message* one = &message;
  const auto claims = store->claim({&one, 1}, {60s, {}, false}).value();
  std::size_t sent = 0;
  points.on(failpoint::kKept, [&] {
    sent = store->facets().held->depth(relay).value().rows;
    cluster.run({"DEL", Names(options.prefix, true).record(message.key().id)});
  });
  Finish finish = test::completed(std::get<Acquired>(claims.front()).lease);
  finish.outgoing.resize(2);
  for (Outgoing& outgoing : finish.outgoing) outgoing.to = relay;
  EXPECT_EQ(store->finish({&finish, 1}).value().front(), Applied::kLeaseLost);
  EXPECT_EQ(sent, 2U) << "the fault must have met them";
  EXPECT_EQ(store->facets().held->depth(relay).value().rows, 0U);
}

std::vector<StoppedCase> stopped_cases() {
  using To = Finish::To;
  std::vector<StoppedCase> all;
  for (const To to : {To::kCompleted, To::kRetrying, To::kParked, To::kDead, To::kNotStarted}) {
    for (const auto point : {failpoint::kMarked, failpoint::kKept, failpoint::kRecorded}) {
      // Without a row a completion is a single step.
      for (const bool from_row : {true, false}) {
        if (from_row || to != To::kCompleted) all.push_back({to, point, from_row});
      }
      all.push_back({to, point, true, true});
    }
  }
  return all;
}

std::string name_of(const testing::TestParamInfo<StoppedCase>& info) {
  constexpr const char* kNames[] = {"completed", "retrying", "parked", "dead", "not_started"};
  return fmt::format("{}_{}_{}", kNames[static_cast<std::size_t>(info.param.to)],
                     info.param.point.substr(8),
                     info.param.steps      ? "steps"
                     : info.param.from_row ? "row"
                                           : "source");
}

INSTANTIATE_TEST_SUITE_P(Steps, ClusterFinishStopped, testing::ValuesIn(stopped_cases()), name_of);

}  // namespace
}  // namespace semel::redis
