// Redis Streams joins the source suite, on a real server and on a Cluster; plus tests of features
// that only Redis Streams has.
#include <fmt/format.h>
#include <sys/socket.h>

#include <algorithm>
#include <set>
#include <thread>

#include <semel/reason.h>

#include "core/stands_aside.h"
#include "sources/redis_streams/make_redis_streams_source.h"
#include "tests/conformance/source_case.h"
#include "tests/support/redis_cluster.h"
#include "tests/support/redis_server.h"
#include "tests/support/redis_stream.h"
#include "tests/support/server_address.h"
#include "tests/support/tcp_proxy.h"
#include "tests/support/tls.h"
#include "tests/support/waiting.h"

namespace semel::conformance {
namespace {

using test::RedisCluster;
using test::RedisServer;
using test::RedisStream;

constexpr std::chrono::seconds kClaimAfter{1};

RedisStream stream_at(const RedisServer& server) {
  RedisStream stream([&server](const auto& words) { return server.run(words); },
                     server.new_database() + ":stream");
  stream.make_group();
  return stream;
}

RedisStream new_stream() { return stream_at(RedisServer::shared()); }

RedisStream stream_on_cluster() {
  const RedisCluster& cluster = RedisCluster::shared();
  RedisStream stream(
      [&cluster](const std::vector<std::string>& words) {
        const bool script = words.front() == "EVAL";
        const bool about = words.front() == "XINFO" || words.front() == "XGROUP";
        return cluster.run_for(words.at(script ? 3 : about ? 2 : 1), words);
      },
      cluster.new_prefix() + "stream");
  stream.make_group();
  return stream;
}

core::RedisStreamsSpec streams_spec(const RedisStream& stream, std::string url) {
  core::RedisStreamsSpec spec;
  spec.url = std::move(url);
  spec.stream = stream.name();
  spec.group = RedisStream::group();
  spec.prefetch = 1'000;
  spec.claim_after = kClaimAfter;
  return spec;
}

core::RedisStreamsSpec streams_spec(const RedisStream& stream) {
  return streams_spec(stream, RedisServer::shared().url());
}

class StreamPlaceOfTest final : public SourcePlace {
 public:
  StreamPlaceOfTest(RedisStream stream, core::RedisStreamsSpec spec)
      : stream_(std::move(stream)), spec_(std::move(spec)) {}

  void add(const std::vector<Bytes>& payloads) override { stream_.add(payloads); }
  void finish() override {}
  std::unique_ptr<Source> open() override {
    return redis_streams::make_redis_streams_source({spec_, false}).value();
  }
  void advance(milliseconds by) override { std::this_thread::sleep_for(std::min(by, 20ms)); }

 private:
  const RedisStream stream_;
  const core::RedisStreamsSpec spec_;
};

SourceCase case_of(const std::string& name, const std::string& consumer, bool cluster = false) {
  SourceCase made;
  made.name = "redis_streams_" + name;
  made.one_name = !consumer.empty();
  made.make = [consumer, cluster] {
    RedisStream stream = cluster ? stream_on_cluster() : new_stream();
    auto spec = cluster ? streams_spec(stream, RedisCluster::shared().url()) : streams_spec(stream);
    spec.consumer = consumer;
    return std::unique_ptr<SourcePlace>(new StreamPlaceOfTest(std::move(stream), std::move(spec)));
  };
  return made;
}

INSTANTIATE_TEST_SUITE_P(RedisStreams, SourceSuite,
                         testing::Values(case_of("new_name", ""), case_of("same_name", "one"),
                                         case_of("cluster", "", true)),
                         testing::PrintToStringParamName());

class StreamMember : public Receiver {
 public:
  explicit StreamMember(core::RedisStreamsSpec spec)
      : Receiver(redis_streams::make_redis_streams_source({std::move(spec), true}).value(), 60s) {}

  // Receives nothing until a notice holds this text.
  bool says(const std::string& text) {
    return test::comes_true([&] {
      const auto received = source().receive({0, 1});
      if (!received) return false;
      return std::ranges::any_of(received->notices, [&](const std::string& notice) {
        return notice.find(text) != std::string::npos;
      });
    });
  }
};

std::vector<Bytes> some(std::size_t count) {
  std::vector<Bytes> payloads;
  for (std::size_t i = 0; i < count; ++i) payloads.push_back(fmt::format("{{\"n\":{}}}", i));
  return payloads;
}

std::vector<Bytes> payloads_in(const std::vector<Arrival>& arrivals) {
  std::vector<Bytes> made;
  for (const Arrival& arrival : arrivals) made.push_back(arrival.payload);
  return made;
}

std::int64_t waiting_for(const core::RedisStreamsSpec& spec) {
  const auto look = redis_streams::look_at_group(spec);
  EXPECT_TRUE(look) << look.error().message;
  return look ? look->state.unread + look->state.pending : -1;
}

// Open entries fill the prefetch, and nothing else does.
TEST(RedisStreamsSource, ASlowMessageKeepsNoPlaceButItsOwn) {
  const RedisStream stream = new_stream();
  stream.add(some(40));
  auto spec = streams_spec(stream);
  spec.prefetch = 3;
  StreamMember member(spec);
  const auto slow = member.receive(1);
  ASSERT_EQ(slow.size(), 1U);
  for (int i = 0; i < 39; ++i) {
    const auto next = member.receive(1);
    ASSERT_EQ(next.size(), 1U) << i << ": acknowledged though it stands behind an open one";
    member.settle(next);
  }
  EXPECT_TRUE(test::comes_true([&] { return stream.pending() == 1; }));
  member.settle(slow);
  EXPECT_TRUE(member.source().close(60s).has_value());
  EXPECT_TRUE(stream.all_done());
}

TEST(RedisStreamsSource, ThePrefetchIsTheMostThatIsPending) {
  const RedisStream stream = new_stream();
  stream.add(some(10));
  auto spec = streams_spec(stream);
  spec.prefetch = 4;
  StreamMember member(spec);
  EXPECT_EQ(member.receive(4).size(), 4U);
  EXPECT_TRUE(member.receive(1, 50ms).empty());
  EXPECT_EQ(stream.pending(), 4);
  EXPECT_EQ(stream.unread(), 6) << "they wait in the stream";
}

// Two members, of which one is silent only to its engine: however long its handlers take, it is
// no dead one.
TEST(RedisStreamsSource, WhatIsWorkedOnIsNotTakenOver) {
  const RedisStream stream = new_stream();
  stream.add(some(2));
  StreamMember slow(streams_spec(stream));
  const auto in_work = slow.receive(2);
  ASSERT_EQ(in_work.size(), 2U);
  StreamMember other(streams_spec(stream));
  EXPECT_TRUE(other.receive(1, 3 * kClaimAfter).empty());
  slow.settle(in_work);
  EXPECT_TRUE(slow.source().close(60s).has_value());
  EXPECT_TRUE(stream.all_done());
}

// Its process lives, and all its handlers hang.
TEST(RedisStreamsSource, AMemberThatStandsAsideLeavesEverythingToOthersUntilItGoesOn) {
  const RedisStream stream = new_stream();
  stream.add(some(4));
  StreamMember hangs(streams_spec(stream));
  auto taken = hangs.receive(4);
  ASSERT_EQ(taken.size(), 4U);
  const std::vector<Arrival> running(taken.begin(), taken.begin() + 1);
  hangs.settle({taken.begin() + 1, taken.end()}, Settlement::Kind::kRelease);
  auto& aside = dynamic_cast<core::StandsAside&>(hangs.source());
  aside.stand_aside(true);
  StreamMember other(streams_spec(stream));
  const auto all = other.receive(4);
  EXPECT_EQ(payloads_in(all), some(4));
  stream.add({"new"});
  EXPECT_EQ(payloads_in(other.receive(1)), std::vector<Bytes>{"new"});
  EXPECT_TRUE(hangs.receive(1, kClaimAfter).empty());
  EXPECT_TRUE(other.source().close(60s).has_value());
  aside.stand_aside(false);
  hangs.settle(running);
  const auto again = hangs.receive(4);
  EXPECT_EQ(again.size(), 4U) << "all but the one that it has still";
  hangs.settle(again);
  EXPECT_TRUE(hangs.source().close(60s).has_value());
  EXPECT_TRUE(stream.all_done());
}

TEST(RedisStreamsSource, WhatADeadMemberHadIsTakenOverAsSuspect) {
  const RedisStream stream = new_stream();
  stream.add(some(5));
  {
    StreamMember dies(streams_spec(stream));
    auto taken = dies.receive(5);
    ASSERT_EQ(taken.size(), 5U);
    taken.resize(2);
    dies.settle(taken);
    ASSERT_TRUE(test::comes_true([&] { return stream.pending() == 3; }));
  }
  StreamMember next(streams_spec(stream));
  EXPECT_TRUE(next.says("took over 3 entries"));
  const auto taken = next.receive(3);
  auto all = some(5);
  EXPECT_EQ(payloads_in(taken), std::vector<Bytes>(all.begin() + 2, all.end()));
  for (const Arrival& arrival : taken) EXPECT_TRUE(arrival.suspect) << arrival.position;
  next.settle(taken);
  EXPECT_TRUE(next.source().close(60s).has_value());
  EXPECT_TRUE(stream.all_done());
}

// Before anything that is new, in the order of the stream.
TEST(RedisStreamsSource, AMemberWithTheSameNameBeginsWithWhatIsPendingForIt) {
  const RedisStream stream = new_stream();
  stream.add(some(4));
  auto spec = streams_spec(stream);
  spec.consumer = "one";
  spec.claim_after = 1h;
  { EXPECT_EQ(StreamMember(spec).receive(4).size(), 4U); }
  stream.add({"new"});
  StreamMember again(spec);
  auto expected = some(4);
  expected.emplace_back("new");
  const auto all = again.receive(5);
  EXPECT_EQ(payloads_in(all), expected);
  for (const Arrival& arrival : all) EXPECT_EQ(arrival.suspect, arrival.payload != "new");
}

TEST(RedisStreamsSource, AnEntryHasTheSamePositionEachTimeItComes) {
  const RedisStream stream = new_stream();
  const std::string id = stream.add_fields({"payload", "{}", "webhook-id", "w-1"});
  auto spec = streams_spec(stream);
  spec.consumer = "one";
  for (int i = 0; i < 2; ++i) {
    StreamMember member(spec);
    const auto arrivals = member.receive(1);
    ASSERT_EQ(arrivals.size(), 1U);
    EXPECT_EQ(arrivals[0].position, stream.name() + "-" + id);
    EXPECT_EQ(arrivals[0].partition, stream.name());
    EXPECT_EQ(find_header(arrivals[0].headers, "webhook-id"), "w-1");
  }
}

TEST(RedisStreamsSource, AClosedMemberLeavesNoNameAndADeadOneIsForgotten) {
  const RedisStream stream = new_stream();
  stream.add(some(2));
  {
    StreamMember dies(streams_spec(stream));
    EXPECT_EQ(dies.receive(1).size(), 1U);
  }
  StreamMember next(streams_spec(stream));
  next.settle(next.receive(2));
  EXPECT_TRUE(next.source().close(60s).has_value());
  EXPECT_TRUE(stream.all_done());
  const std::string left = stream.members();
  EXPECT_EQ(std::ranges::count(left, '\n'), 1) << left;
  stream.run({"XGROUP", "CREATECONSUMER", stream.name(), RedisStream::group(), "somebody"});
  EXPECT_TRUE(test::comes_true([&] {
    StreamMember looks(streams_spec(stream));
    EXPECT_TRUE(looks.receive(1, 50ms).empty());
    EXPECT_TRUE(looks.source().close(60s).has_value());
    return stream.members() == "somebody\n";
  })) << stream.members();
}

// Its data is gone: it becomes a dead letter, and stays pending until that is recorded.
TEST(RedisStreamsSource, APendingEntryThatWasTrimmedIsToldAndNotLost) {
  for (const bool same_name : {true, false}) {
    const RedisStream stream = new_stream();
    stream.add(some(3));
    auto spec = streams_spec(stream);
    if (same_name) spec.consumer = "one";
    { EXPECT_EQ(StreamMember(spec).receive(3).size(), 3U); }
    stream.run({"XTRIM", stream.name(), "MAXLEN", "1"});
    StreamMember next(spec);
    const auto all = next.receive(3);
    ASSERT_EQ(all.size(), 3U);
    EXPECT_EQ(all[0].refused, reason::kTrimmed) << all[0].position;
    EXPECT_EQ(all[1].refused, reason::kTrimmed);
    EXPECT_FALSE(all[2].refused.has_value());
    std::this_thread::sleep_for(kClaimAfter);
    EXPECT_EQ(stream.pending(), 3) << "none is dropped before its end is recorded";
    next.settle(all);
    EXPECT_TRUE(next.source().close(60s).has_value());
    EXPECT_TRUE(stream.all_done());
  }
}

TEST(RedisStreamsSource, WhatWasTrimmedUnreadIsTold) {
  const RedisStream stream = new_stream();
  stream.add(some(10));
  {
    StreamMember first(streams_spec(stream));
    first.settle(first.receive(10));
    EXPECT_TRUE(first.source().close(60s).has_value());
  }
  stream.add(some(10));
  stream.run({"XTRIM", stream.name(), "MAXLEN", "4"});
  StreamMember next(streams_spec(stream));
  EXPECT_TRUE(next.says("6 entries of " + stream.name() + " were trimmed"));
  EXPECT_EQ(next.receive(4).size(), 4U);
}

// Entries in hand stay in hand on the next connection: none comes twice, and no acknowledgement is
// lost.
TEST(RedisStreamsSource, ALostConnectionVoidsNothing) {
  const RedisServer server;
  const RedisStream stream = stream_at(server);
  stream.add(some(20));
  test::TcpProxy proxy(server.port());
  StreamMember member(streams_spec(stream, fmt::format("redis://127.0.0.1:{}", proxy.port())));
  const auto arrivals = member.receive(20);
  ASSERT_EQ(arrivals.size(), 20U);
  proxy.cut_all();
  member.settle(arrivals);
  EXPECT_TRUE(test::comes_true([&] {
    const auto received = member.source().receive({});
    EXPECT_TRUE(!received || received->arrivals.empty()) << "it is in hand already";
    return stream.all_done();
  }));
  stream.add({"more"});
  EXPECT_EQ(payloads_in(member.receive(1)), std::vector<Bytes>{"more"});
}

TEST(RedisStreamsSource, AMemberThatIsDeletedUnderUsIsToldOfWhatItHas) {
  const RedisStream stream = new_stream();
  stream.add(some(2));
  auto spec = streams_spec(stream);
  spec.consumer = "one";
  StreamMember member(spec);
  const auto arrivals = member.receive(2);
  ASSERT_EQ(arrivals.size(), 2U);
  stream.run({"XGROUP", "DELCONSUMER", stream.name(), RedisStream::group(), "one"});
  EXPECT_TRUE(member.says("2 entries of " + stream.name() + " that are in hand"));
  member.settle(arrivals);
  stream.add({"more"});
  EXPECT_EQ(member.receive(1).size(), 1U) << "and it goes on";
}

TEST(RedisStreamsSource, WhatIsNotThereIsNamedAndDeclareMakesIt) {
  const RedisServer& server = RedisServer::shared();
  const RedisStream stream([&](const auto& words) { return server.run(words); },
                           server.new_database() + ":stream");
  auto spec = streams_spec(stream);
  EXPECT_EQ(StreamMember(spec).failure_of().code, "R371") << "no stream";
  EXPECT_EQ(redis_streams::look_at_group(spec).error().code, "R371");
  stream.run({"SET", stream.name(), "text"});
  EXPECT_EQ(StreamMember(spec).failure_of().code, "R372");
  stream.run({"DEL", stream.name()});
  stream.add(some(2));
  EXPECT_EQ(StreamMember(spec).failure_of().code, "R371") << "no group";
  spec.declare = true;
  EXPECT_EQ(waiting_for(spec), 0);
  StreamMember member(spec);
  EXPECT_EQ(member.receive(2).size(), 2U);
  stream.run({"XGROUP", "DESTROY", stream.name(), RedisStream::group()});
  EXPECT_EQ(member.failure_of().code, "R371") << "never made again in mid-run";
  spec.from = core::RedisStreamsSpec::From::kLatest;
  StreamMember late(spec);
  EXPECT_TRUE(late.receive(1, 300ms).empty());
  stream.add({"after"});
  EXPECT_EQ(payloads_in(late.receive(1)), std::vector<Bytes>{"after"});
}

TEST(RedisStreamsSource, HowMuchWaitsIsKnownWithoutReading) {
  const RedisStream stream = new_stream();
  stream.add(some(7));
  auto spec = streams_spec(stream);
  EXPECT_EQ(waiting_for(spec), 7);
  spec.prefetch = 3;
  StreamMember member(spec);
  auto arrivals = member.receive(3);
  EXPECT_EQ(waiting_for(spec), 7) << "three of them are pending";
  arrivals.resize(2);
  member.settle(arrivals);
  EXPECT_TRUE(test::comes_true([&] { return waiting_for(spec) == 5; }));
}

// A server that accepts connections and sends nothing.
class DeafServer {
 public:
  std::string url() const { return fmt::format("redis://127.0.0.1:{}", listener_.port); }
  // Returns when a client has connected.
  void wait_for_somebody() {
    client_ = system::Descriptor(::accept(listener_.fd.get(), nullptr, nullptr));
  }
  bool is_waited_for() const {
    char heard[256];
    ssize_t got = 0;
    while ((got = ::recv(client_.get(), heard, sizeof heard, MSG_DONTWAIT)) > 0) {
    }
    return got < 0;
  }

 private:
  test::OwnListener listener_ = test::own_listener();
  system::Descriptor client_;
};

// The prefetch is full all the time: the figure needs no room for entries.
TEST(RedisStreamsSource, TellsNoLagWhileItsServerIsAway) {
  const RedisStream stream = new_stream();
  test::TcpProxy proxy(RedisServer::shared().port());
  auto spec = streams_spec(stream, fmt::format("redis://127.0.0.1:{}", proxy.port()));
  spec.prefetch = 1;
  stream.add(some(3));
  StreamMember member(spec);
  ASSERT_EQ(member.receive(1).size(), 1U);
  const auto tells = [&](std::optional<std::int64_t> lag) {
    return test::comes_true([&] { return lag_told_by(member.source()) == lag; });
  };
  EXPECT_TRUE(tells(2));
  stream.add(some(2));
  EXPECT_TRUE(tells(4));
  proxy.refuse(true);
  proxy.cut_all();
  EXPECT_TRUE(test::comes_true([&] { return !member.source().receive({0, 1}).has_value(); }));
  EXPECT_EQ(lag_told_by(member.source()), std::nullopt);
  proxy.refuse(false);
  EXPECT_TRUE(tells(4));
}

// If a login that began earlier is still open when the close returns, the close has not waited for
// its own login. A machine that stalls for longer than a login may take proves nothing.
TEST(RedisStreamsSource, AServerThatDoesNotAnswerKeepsNoCloseWaiting) {
  const RedisStream stream = new_stream();
  constexpr int kTries = 5;
  bool waited_for = false;
  for (int tries = 0; tries < kTries && !waited_for; ++tries) {
    DeafServer before, deaf;
    StreamMember longer(streams_spec(stream, before.url())),
        closed(streams_spec(stream, deaf.url()));
    EXPECT_TRUE(longer.receive(1, 1ms).empty());
    before.wait_for_somebody();
    EXPECT_TRUE(closed.receive(1, 1ms).empty());
    deaf.wait_for_somebody();
    (void)closed.source().close(100ms);
    waited_for = before.is_waited_for();
  }
  EXPECT_TRUE(waited_for) << "the close waits for as long as the login may take";
}

TEST(RedisStreamsCluster, FollowsItsSlotToAnotherNode) {
  RedisCluster cluster(RedisCluster::kCalmTimeoutMs);
  RedisStream stream(
      [&](const std::vector<std::string>& words) {
        const bool about = words.front() == "XINFO" || words.front() == "XGROUP";
        const std::size_t name = words.front() == "EVAL" ? 3 : about ? 2 : 1;
        return cluster.run_for(words.at(name), words);
      },
      cluster.new_prefix() + "stream");
  stream.make_group();
  stream.add(some(10));
  StreamMember member(streams_spec(stream, cluster.url()));
  const auto before = member.receive(10);
  ASSERT_EQ(before.size(), 10U);
  const int from = cluster.master_of(stream.name());
  const auto masters = cluster.masters();
  const int to = *std::ranges::find_if(masters, [&](int port) { return port != from; });
  cluster.begin_move(stream.name(), to);
  cluster.move_names(stream.name(), to);
  cluster.end_move(stream.name(), to);
  member.settle(before);
  // Another node may lack the last writes of the one before: their records decide.
  const auto again = member.receive(10);
  EXPECT_EQ(again.size(), 10U);
  member.settle(again);
  EXPECT_TRUE(test::comes_true([&] {
    (void)member.source().receive({0, 1});
    return stream.all_done();
  }));
  stream.add(some(3));
  EXPECT_EQ(member.receive(3).size(), 3U);
}

TEST(RedisStreamsTls, EntriesComeByTlsAndWithAPassword) {
  const test::TlsFiles files;
  files.add("host", test::TlsIdentity("DNS:localhost"));
  RedisServer::Options options = RedisServer::fast();
  const int port = test::free_port();
  test::add_tls(options.arguments, {.port = port,
                                    .certificate = files.file("host.pem"),
                                    .key = files.file("host.key"),
                                    .trusted = files.file("host.pem")});
  const RedisServer server(options);
  const RedisStream stream = stream_at(server);
  stream.add({"{}", Bytes(300'000, 'x')});
  server.run({"ACL", "SETUSER", "reader", "on", ">right", "~" + stream.name(), "+xreadgroup",
              "+xack", "+xclaim", "+xpending", "+xrange", "+xinfo", "+info"});
  const auto at = [&](const std::string& account) {
    return streams_spec(stream, fmt::format("rediss://{}@localhost:{}/0?tls-ca={}", account, port,
                                            files.file("host.pem")));
  };
  StreamMember member(at("reader:right"));
  const auto arrivals = member.receive(2);
  ASSERT_EQ(arrivals.size(), 2U) << "with no right to run scripts, and none to set a name";
  EXPECT_EQ(arrivals[1].payload.size(), 300'000U);
  member.settle(arrivals);
  EXPECT_TRUE(member.source().close(60s).has_value());
  EXPECT_TRUE(stream.all_done());
  server.run({"ACL", "SETUSER", "reader", "-xreadgroup"});
  const Error refused = StreamMember(at("reader:right")).failure_of();
  EXPECT_EQ(refused.code, "R253");
  EXPECT_NE(refused.hint.find("+xreadgroup"), std::string::npos) << refused.hint;
}

}  // namespace
}  // namespace semel::conformance
