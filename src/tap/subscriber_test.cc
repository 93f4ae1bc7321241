// The data waiting for a tap is bounded; endings that do not fit are counted, and reported at their
// place.
#include "tap/subscriber.h"

#include <gtest/gtest.h>

namespace semel::tap {
namespace {

std::shared_ptr<const DeliveryEvent> event(const std::string& key, std::size_t payload = 0) {
  DeliveryEvent made;
  made.key = key;
  made.payload = Bytes(payload, 'x');
  return std::make_shared<const DeliveryEvent>(std::move(made));
}

// The keys of taken endings, and "+N" for those not shown.
std::string taken(Subscriber& subscriber) {
  std::string keys;
  LineParser parser;
  std::string lines = subscriber.take();
  for (std::size_t end = 0; (end = lines.find('\n')) != std::string::npos;) {
    const auto said = parser.said(std::string_view(lines).substr(0, end));
    EXPECT_TRUE(said) << lines;
    if (!said) break;
    if (const auto* gap = std::get_if<NotShown>(&*said)) keys += "+" + std::to_string(gap->count);
    if (const auto* one = std::get_if<DeliveryEvent>(&*said)) keys += *one->key;
    lines.erase(0, end + 1);
  }
  return keys;
}

TEST(Subscriber, GivesWhatWasPutInOrderAndWakesOnce) {
  Subscriber subscriber({"payments"}, 1 << 20);
  EXPECT_TRUE(subscriber.put(event("a")));
  EXPECT_FALSE(subscriber.put(event("b")));
  EXPECT_EQ(taken(subscriber), "ab");
  EXPECT_EQ(taken(subscriber), "");
  EXPECT_TRUE(subscriber.put(event("c")));
}

TEST(Subscriber, TellsWhatIsMissingInItsPlace) {
  Subscriber subscriber({"payments"}, 10'000);
  EXPECT_TRUE(subscriber.put(event("a", 8'000)));
  EXPECT_FALSE(subscriber.has_room(2'000));
  EXPECT_TRUE(subscriber.has_room(500));
  EXPECT_FALSE(subscriber.put(event("b", 8'000)));
  EXPECT_EQ(taken(subscriber), "a");
  EXPECT_TRUE(subscriber.put(event("c")));
  EXPECT_EQ(taken(subscriber), "+2c");
  EXPECT_EQ(taken(subscriber), "");
}

TEST(Subscriber, TellsWhatIsMissingAtTheEndToo) {
  Subscriber subscriber({"payments"}, 1'000);
  subscriber.put(event("a", 900));
  subscriber.put(event("b", 900));
  subscriber.count_one();
  EXPECT_EQ(taken(subscriber), "a");
  EXPECT_EQ(taken(subscriber), "+2");
  EXPECT_EQ(taken(subscriber), "");
}

TEST(Subscriber, OneLongerThanAllRoomIsTakenWhereNothingWaits) {
  Subscriber subscriber({"payments"}, 100);
  EXPECT_TRUE(subscriber.has_room(100'000));
  EXPECT_TRUE(subscriber.put(event("a", 100'000)));
  EXPECT_FALSE(subscriber.has_room(0));
  EXPECT_EQ(taken(subscriber), "a");
}

TEST(Subscriber, MakesNoMoreLinesAtATimeThanCanBeSent) {
  Subscriber subscriber({"payments"}, 10 << 20);
  for (int i = 0; i < 4; ++i) subscriber.put(event(std::to_string(i), 50'000));
  EXPECT_EQ(taken(subscriber), "01");
  subscriber.put(event("4"));
  EXPECT_EQ(taken(subscriber), "23");
  EXPECT_EQ(taken(subscriber), "4");
}

}  // namespace
}  // namespace semel::tap
