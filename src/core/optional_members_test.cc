// Values that name what they set, and leave out what may be left out: with warnings as errors, this
// compiles only while every other member has a default initializer.
#include <gtest/gtest.h>

#include <chrono>

#include <semel/admin/records.h>
#include <semel/attempt.h>
#include <semel/consumer.h>
#include <semel/error.h>
#include <semel/guard.h>
#include <semel/memory.h>
#include <semel/mysql.h>
#include <semel/outcome.h>
#include <semel/outgoing_message.h>
#include <semel/postgres.h>
#include <semel/producer.h>
#include <semel/redis.h>
#include <semel/retry_policy.h>
#include <semel/runner.h>
#include <semel/spi/delivery.h>
#include <semel/spi/finish.h>
#include <semel/spi/source.h>
#include <semel/spi/store.h>
#include <semel/sqlite.h>
#include <semel/step_spec.h>
#include <semel/testing/deliver.h>

namespace semel {
namespace {

using std::chrono::milliseconds;

TEST(OptionalMembers, AnOutgoingMessageHasNoOthers) {
  EXPECT_EQ(OutgoingMessage{.payload = "{}"}.payload, "{}");
  EXPECT_EQ((OutgoingMessage{.headers = {{"a", "b"}}}.headers.size()), 1U);
  EXPECT_EQ(OutgoingMessage{.content_type = "text/plain"}.content_type, "text/plain");
  EXPECT_EQ(OutgoingMessage{.type = "paid"}.type, "paid");
  EXPECT_EQ(OutgoingMessage{.key = "p-1"}.key, "p-1");
  EXPECT_EQ(OutgoingMessage{.delay = milliseconds(1)}.delay, milliseconds(1));
  EXPECT_FALSE(OutgoingMessage{.payload = "{}"}.key);
}

TEST(OptionalMembers, OptionsNeedNone) {
  EXPECT_TRUE(SqliteOptions{.path = "a.db"}.create);
  EXPECT_TRUE(PostgresOptions{.url = "postgresql:///a"}.create);
  EXPECT_TRUE(MySqlOptions{.url = "mysql://a"}.create);
  EXPECT_FALSE(RedisOptions{.url = "redis://a"}.accept_eviction);
  EXPECT_FALSE(RedisFrontOptions{.url = "redis://a"}.prefix.empty());
  EXPECT_EQ(MemoryOptions{.environment = nullptr}.environment, nullptr);
  EXPECT_FALSE(GuardOptions{.consumer = "once"}.at_most_once);
  EXPECT_TRUE(ConsumerOptions{.name = "payments"}.key.empty());
  EXPECT_TRUE(FromHttp{.listen = "127.0.0.1:8080"}.path.empty());
  EXPECT_EQ(RetryPolicy{.attempts = 2}.attempts, 2);
  EXPECT_EQ(StepSpec{.name = "charge"}.undo, nullptr);
  EXPECT_TRUE(testkit::TestMessage{.key = "p-1"}.payload.empty());
  EXPECT_FALSE(testkit::DeliverOptions{.may_double = true}.may_lose);
}

TEST(OptionalMembers, ADestinationNeedsNone) {
  EXPECT_FALSE((KafkaTopic{.brokers = "a:9092", .topic = "t"}.record_key));
  EXPECT_TRUE((RabbitmqRoute{.url = "amqp://a", .routing_key = "q"}.exchange.empty()));
  EXPECT_EQ((RedisStreamTarget{.url = "redis://a", .stream = "s"}.payload), "payload");
  EXPECT_TRUE((NatsSubject{.url = "nats://a", .subject = "s"}.token.empty()));
  EXPECT_TRUE(SqsQueue{.url = "https://a/1/q"}.profile.empty());
  EXPECT_TRUE(SnsTopic{.arn = "arn:aws:sns:eu-west-1:1:t"}.profile.empty());
  EXPECT_EQ(HttpEndpoint{.url = "https://a"}.method, "POST");
  EXPECT_EQ((ConsumerQueue{.config_file = "a.yaml", .consumer = "c"}.store), nullptr);
  EXPECT_EQ(ProducerOptions{.time_limit = milliseconds(1)}.time_limit, milliseconds(1));
}

TEST(OptionalMembers, AttemptsErrorsAndFiltersNeedNone) {
  EXPECT_EQ(Attempt{.number = 2}.steps, nullptr);
  EXPECT_TRUE(Outcome{.kind = Outcome::Kind::kRetry}.reason.empty());
  EXPECT_TRUE((Error{.code = "R1", .message = "no"}.hint.empty()));
  EXPECT_FALSE(DeadLetterFilter{.consumer = "payments"}.reason);
  EXPECT_FALSE(DeadLetterFilter{.reason = "key.conflict"}.consumer);
}

TEST(OptionalMembers, ASourceOrAStoreOfYourOwnNeedsNone) {
  EXPECT_FALSE(SourceTraits{.name = "file"}.ends);
  EXPECT_FALSE(Arrival{.payload = "{}"}.key);
  EXPECT_TRUE(Received{.at_end = true}.arrivals.empty());
  EXPECT_TRUE(Horizon{.longest = milliseconds(1)}.known);
  EXPECT_TRUE(SourceFigure{.name = "lag"}.text.empty());
  EXPECT_FALSE(Wakeup{.fd = 1}.due_in);
  EXPECT_FALSE((ConsumerSpec{.name = "payments", .recipe_hash = "guard"}.ttl));
  EXPECT_FALSE(Finish{.to = Finish::To::kDead}.lease);
}

}  // namespace
}  // namespace semel
