#include "handlers/redis_streams/answers.h"

#include <gtest/gtest.h>

namespace semel::redis_streams {
namespace {

using redis::Reply;
using Kind = Verdict::Kind;

Reply refused_with(std::string words) {
  Reply reply;
  reply.kind = Reply::Kind::kError;
  reply.bytes = std::move(words);
  return reply;
}

core::RedisStreamsPublishSpec to_orders() {
  core::RedisStreamsPublishSpec spec;
  spec.stream = "orders";
  return spec;
}

TEST(RedisStreamsAnswers, AnEntryThatIsAddedIsDoneWithItsPosition) {
  Reply added;
  added.kind = Reply::Kind::kBytes;
  added.bytes = "1526919030474-55";
  const Judged judged = judge_added(added, to_orders());
  EXPECT_EQ(judged.verdict.kind(), Kind::kDone);
  EXPECT_EQ(judged.verdict.result(), "orders-1526919030474-55");
  EXPECT_EQ(judged.broker, Judged::Broker::kWorks);
}

TEST(RedisStreamsAnswers, ARefusalIsNamedAndCostsNoAttempt) {
  const std::pair<const char*, const char*> refusals[] = {
      {"WRONGTYPE Operation against a key holding the wrong kind of value", "stream"},
      {"NOPERM this user has no permissions to run the 'xadd' command", "denied"},
      {"NOAUTH Authentication required.", "denied"},
      {"OOM command not allowed when used memory > 'maxmemory'.", "full"},
      {"MISCONF Redis is configured to save RDB snapshots", "server"},
      {"ERR something new", "server"}};
  for (const auto& [said, word] : refusals) {
    const Judged judged = judge_added(refused_with(said), to_orders());
    EXPECT_EQ(judged.verdict.kind(), Kind::kRetry) << said;
    EXPECT_EQ(judged.verdict.code(), std::string("handler.redis_streams.") + word) << said;
    EXPECT_FALSE(judged.verdict.counted()) << said;
    EXPECT_FALSE(judged.verdict.unknown()) << said;
    EXPECT_EQ(judged.broker, Judged::Broker::kAtFault) << said;
  }
  const Judged missing = judge_added(Reply(), to_orders());
  EXPECT_EQ(missing.verdict.code(), "handler.redis_streams.stream");
  EXPECT_NE(missing.why.find("there is no stream orders"), std::string::npos) << missing.why;
}

TEST(RedisStreamsAnswers, AFieldThatIsTooLargeIsDeadAndSaysNothingOfTheServer) {
  const Judged judged =
      judge_added(refused_with("ERR Protocol error: invalid bulk length"), to_orders());
  EXPECT_EQ(judged.verdict.kind(), Kind::kDead);
  EXPECT_EQ(judged.verdict.code(), "handler.redis_streams.too_large");
  EXPECT_EQ(judged.broker, Judged::Broker::kSilent);
}

TEST(RedisStreamsAnswers, AnotherServerMayTakeWhatThisOneDoesNot) {
  for (const char* said :
       {"MOVED 3999 127.0.0.1:6381", "ASK 3999 127.0.0.1:6381", "CLUSTERDOWN The cluster is down",
        "LOADING Redis is loading", "READONLY You can't write against a read only replica."}) {
    EXPECT_TRUE(is_elsewhere(refused_with(said))) << said;
  }
  EXPECT_FALSE(is_elsewhere(refused_with("OOM command not allowed")));
  EXPECT_FALSE(is_elsewhere(Reply()));
}

TEST(RedisStreamsAnswers, WithoutAnAnswerItIsKnownWhetherItMayBeThere) {
  const Judged sent = no_answer_to({std::chrono::milliseconds(50), true, false, ""});
  EXPECT_TRUE(sent.verdict.unknown());
  EXPECT_EQ(sent.broker, Judged::Broker::kAtFault);
  const Judged kept = no_answer_to({std::chrono::milliseconds(50), false, false, "it moves"});
  EXPECT_FALSE(kept.verdict.unknown());
  EXPECT_EQ(kept.broker, Judged::Broker::kAtFault);
  EXPECT_NE(kept.why.find("it moves"), std::string::npos) << kept.why;
  const Judged stopped = no_answer_to({std::chrono::milliseconds(50), true, true, ""});
  EXPECT_EQ(stopped.broker, Judged::Broker::kSilent);
}

TEST(RedisStreamsAnswers, HintsNameTheHandlersUrl) {
  const Error error = as_of_handler(
      {ErrorKind::kUnavailable, "R251", "refused", "check user and password in store.redis.url"});
  EXPECT_EQ(error.hint, "check user and password in handler.redis_streams.url");
}

}  // namespace
}  // namespace semel::redis_streams
