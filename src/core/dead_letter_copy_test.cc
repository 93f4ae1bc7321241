#include "core/dead_letter_copy.h"

#include <gtest/gtest.h>

#include "core/intake.h"
#include "core/key_encoding.h"
#include "tests/support/builders.h"

namespace semel::core {
namespace {

constexpr ConsumerNumber kSender{3};
constexpr ConsumerNumber kRelay{9};

Bytes value_of(const OutgoingMessage& message, std::string_view name) {
  return Bytes(find_header(message.headers, name).value_or("none"));
}

TEST(DeadLetterCopy, IsTheMessageAndWhyItDied) {
  Message::Parts parts;
  parts.key = {"k-1", encode_key(kSender, "k-1")};
  parts.payload = "the payload";
  parts.headers = {{"h", "v"}, {"Semel-Reason", "of an earlier life"}};
  parts.content_type = "text/plain";
  parts.type = "t";
  const Message message(parts);
  Arrival arrival;
  arrival.partition = "orders-3";
  arrival.position = "orders-3-17";
  Finish finish;
  finish.keep = &message;
  finish.arrival = &arrival;
  finish.reason = "handler.http.400";
  finish.error = "no such thing";
  finish.attempts = 4;
  const Outgoing copy = dead_letter_copy(Route{kRelay}, "orders", finish);
  EXPECT_EQ(copy.to, kRelay);
  EXPECT_EQ(copy.message.payload, "the payload");
  EXPECT_EQ(copy.message.content_type, "text/plain");
  EXPECT_EQ(copy.message.type, "t");
  EXPECT_EQ(copy.message.key, "k-1");
  EXPECT_EQ(copy.message.headers.size(), 7U);
  EXPECT_EQ(value_of(copy.message, "h"), "v");
  EXPECT_EQ(value_of(copy.message, kDeadLetterConsumer), "orders");
  EXPECT_EQ(value_of(copy.message, kDeadLetterReason), "handler.http.400");
  EXPECT_EQ(value_of(copy.message, kDeadLetterError), "no such thing");
  EXPECT_EQ(value_of(copy.message, kDeadLetterAttempts), "4");
  EXPECT_EQ(value_of(copy.message, kDeadLetterSource), "orders-3");
  EXPECT_EQ(value_of(copy.message, kDeadLetterPosition), "orders-3-17");
}

TEST(DeadLetterCopy, WithoutAKeyItsPlaceIsItsKey) {
  Arrival arrival;
  arrival.payload = "no key";
  arrival.partition = "orders-3";
  arrival.position = "orders-3-17";
  const Message message = refused_message(kSender, arrival);
  Finish finish;
  finish.keep = &message;
  finish.arrival = &arrival;
  finish.reason = "key.missing";
  finish.error = std::string(5'000, 'x');
  const Outgoing copy = dead_letter_copy(Route{kRelay}, "orders", finish);
  EXPECT_EQ(copy.message.key, "orders-3/orders-3-17");
  EXPECT_EQ(value_of(copy.message, kDeadLetterError).size(), 2'048U);
  EXPECT_EQ(value_of(copy.message, kDeadLetterAttempts), "none");
}

TEST(DeadLetterCopy, WhereOthersSendTooTheSenderIsInTheKey) {
  auto parts = test::make_parts(kSender, "k-1");
  const Message message(std::move(parts));
  Finish finish;
  finish.keep = &message;
  EXPECT_EQ(dead_letter_copy(Route{kRelay, true}, "orders", finish).message.key, "orders/k-1");
  EXPECT_EQ(dead_letter_copy(Route{kRelay, true}, "mails", finish).message.key, "mails/k-1");
  EXPECT_EQ(dead_letter_copy(Route{kRelay, true, true}, "mails", finish).message.key, "mails/k-1/0")
      << "once replayed, it may be forwarded under its own key";
}

}  // namespace
}  // namespace semel::core
