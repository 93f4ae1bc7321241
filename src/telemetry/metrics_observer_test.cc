#include <semel/metrics.h>

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include <semel/reason.h>

#include "tests/support/builders.h"
#include "tests/support/rounds.h"

namespace semel {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;

constexpr ConsumerNumber kNumber{1};

Outcome outcome(Outcome::Kind kind, std::string_view why = "", int attempt = 0) {
  Outcome made;
  made.kind = kind;
  made.reason = why;
  made.attempt = attempt;
  return made;
}

class MetricsObserverTest : public ::testing::Test {
 protected:
  MetricsObserverTest() {
    metrics_.on_consumer({"payments", {"kafka", "held"}, "http", hours(24)});
  }

  void end(const Outcome& with, std::uint32_t source = 0) {
    Delivery delivery = test::make_delivery(kNumber, "k");
    delivery.arrival.source = source;
    metrics_.on_ended("payments", delivery, with, milliseconds(7));
  }
  // The value of the series, as it is written; "(none)".
  std::string value(const std::string& series) const {
    const std::string text = "\n" + metrics_.text(MetricsFormat::kPrometheus);
    const auto at = text.find("\n" + series + " ");
    if (at == std::string::npos) return "(none)";
    const auto from = at + series.size() + 2;
    return text.substr(from, text.find('\n', from) - from);
  }
  static std::string deliveries(const std::string& source, const std::string& which) {
    return "semel_deliveries_total{consumer=\"payments\",source=\"" + source + "\",outcome=\"" +
           which + "\"}";
  }
  static std::string of_consumer(const std::string& name) {
    return name + "{consumer=\"payments\"}";
  }

  MetricsObserver metrics_;
};

TEST_F(MetricsObserverTest, BeginsWithZeros) {
  EXPECT_EQ(value(deliveries("kafka", "done")), "0");
  EXPECT_EQ(value(deliveries("held", "parked")), "0");
  EXPECT_EQ(value(of_consumer("semel_effects_total")), "0");
  EXPECT_EQ(value(of_consumer("semel_messages_given_up_total")), "0");
  EXPECT_EQ(value(of_consumer("semel_duplicates_near_ttl_total")), "0");
  EXPECT_EQ(value(of_consumer("semel_too_old_total")), "0");
  EXPECT_EQ(value(of_consumer("semel_dedup_ttl_seconds")), "86400");
}

TEST_F(MetricsObserverTest, CountsDeliveriesByOutcomeAndSource) {
  end(outcome(Outcome::Kind::kDone, "", 1));
  end(outcome(Outcome::Kind::kDone, "", 2), 1);
  end(outcome(Outcome::Kind::kDuplicate));
  EXPECT_EQ(value(deliveries("kafka", "done")), "1");
  EXPECT_EQ(value(deliveries("held", "done")), "1");
  EXPECT_EQ(value(deliveries("kafka", "duplicate")), "1");
  EXPECT_EQ(value(of_consumer("semel_effects_total")), "2");
  metrics_.on_held("payments", test::make_delivery(kNumber, "k"));
  EXPECT_EQ(value(of_consumer("semel_held_total")), "1");
  metrics_.on_refused("payments", test::make_arrival("{}"), reason::kKeyMissing, "");
  EXPECT_EQ(value(deliveries("kafka", "dead")), "1");
}

TEST_F(MetricsObserverTest, CountsDeadLettersByReason) {
  end(outcome(Outcome::Kind::kDead, reason::kAttemptsExhausted));
  end(outcome(Outcome::Kind::kConflict, reason::kKeyConflict));
  end(outcome(Outcome::Kind::kDead));
  const auto dead = [&](const std::string& why) {
    return value("semel_dead_letters_total{consumer=\"payments\",reason=\"" + why + "\"}");
  };
  EXPECT_EQ(dead("attempts.exhausted"), "1");
  EXPECT_EQ(dead("key.conflict"), "1");
  EXPECT_EQ(dead("unknown"), "1");
  EXPECT_EQ(value(of_consumer("semel_messages_given_up_total")), "3");
}

TEST_F(MetricsObserverTest, ADeadLetterIsCountedOnce) {
  Outcome again = outcome(Outcome::Kind::kDead, reason::kAttemptsExhausted);
  again.closed_before = true;
  end(again);
  Outcome stays = outcome(Outcome::Kind::kConflict, reason::kKeyConflict);
  stays.settle = Outcome::Settle::kLater;
  end(stays);
  EXPECT_EQ(value(deliveries("kafka", "dead")), "1");
  EXPECT_EQ(value(of_consumer("semel_messages_given_up_total")), "0");
}

TEST_F(MetricsObserverTest, AReasonThatIsNoWordIsNoLabel) {
  for (const char* why : {"two words", "line\nend", "caf\xc3\xa9", "bad\xff"}) {
    end(outcome(Outcome::Kind::kDead, why));
  }
  end(outcome(Outcome::Kind::kDead, std::string(65, 'x')));
  EXPECT_EQ(value("semel_dead_letters_total{consumer=\"payments\",reason=\"other\"}"), "5");
}

TEST_F(MetricsObserverTest, ReasonsOfHandlersDoNotGrowWithTheData) {
  for (int i = 0; i < 1'000; ++i) {
    end(outcome(Outcome::Kind::kDead, "handler.exec." + std::to_string(i)));
  }
  const std::string text = metrics_.text(MetricsFormat::kPrometheus);
  std::size_t series = 0;
  for (auto at = text.find("\nsemel_dead_letters_total{"); at != std::string::npos;
       at = text.find("\nsemel_dead_letters_total{", at + 1)) {
    ++series;
  }
  EXPECT_EQ(series, 201U);
  EXPECT_EQ(value("semel_dead_letters_total{consumer=\"payments\",reason=\"other\"}"), "800");
}

TEST_F(MetricsObserverTest, MeasuresDurationsAgesAndAttempts) {
  end(outcome(Outcome::Kind::kDone, "", 3));
  const std::string duration = "semel_delivery_duration_seconds_bucket{consumer=\"payments\",le=";
  EXPECT_EQ(value(duration + "\"0.005\"}"), "0");
  EXPECT_EQ(value(duration + "\"0.01\"}"), "1");
  EXPECT_EQ(value(of_consumer("semel_delivery_duration_seconds_sum")), "0.007");
  EXPECT_EQ(value("semel_attempts_bucket{consumer=\"payments\",le=\"2\"}"), "0");
  EXPECT_EQ(value("semel_attempts_bucket{consumer=\"payments\",le=\"3\"}"), "1");
  EXPECT_EQ(value(of_consumer("semel_message_age_seconds_count")), "0") << "no broker's time";

  Outcome duplicate = outcome(Outcome::Kind::kDuplicate);
  end(duplicate);
  EXPECT_EQ(value(of_consumer("semel_duplicate_age_seconds_count")), "0") << "not known when";
  duplicate.completed_at = std::chrono::system_clock::now() - hours(2);
  end(duplicate);
  const std::string age = "semel_duplicate_age_seconds_bucket{consumer=\"payments\",le=";
  EXPECT_EQ(value(age + "\"3600\"}"), "0");
  EXPECT_EQ(value(age + "\"21600\"}"), "1");
  EXPECT_EQ(value(of_consumer("semel_duplicates_near_ttl_total")), "0");
  duplicate.completed_at = std::chrono::system_clock::now() - hours(20);
  end(duplicate);
  EXPECT_EQ(value(of_consumer("semel_duplicates_near_ttl_total")), "1") << "of a ttl of 24 hours";

  Delivery late = test::make_delivery(kNumber, "late");
  late.arrival.broker_time = std::chrono::system_clock::now() - hours(2);
  metrics_.on_ended("payments", late, outcome(Outcome::Kind::kDone, "", 1), milliseconds(1));
  EXPECT_EQ(value(of_consumer("semel_message_age_seconds_count")), "1");
}

TEST_F(MetricsObserverTest, CountsWhatTheAgeGateRefusesOnce) {
  Outcome parked = outcome(Outcome::Kind::kParked, std::string(reason::kTooOld), 0);
  end(parked);
  end(outcome(Outcome::Kind::kDiscarded, std::string(reason::kTooOld), 0));
  parked.closed_before = true;
  end(parked);
  EXPECT_EQ(value(of_consumer("semel_too_old_total")), "2");
  EXPECT_EQ(value(deliveries("kafka", "parked")), "2") << "a redelivery counts again";
}

TEST_F(MetricsObserverTest, CountsAnOutageOnce) {
  const Error error{ErrorKind::kUnavailable, "R250", "away", {}};
  metrics_.on_trouble("payments", "store", error, false);
  metrics_.on_trouble("payments", "store", error, true);
  EXPECT_EQ(value("semel_outages_total{consumer=\"payments\",component=\"store\"}"), "1");
}

TEST_F(MetricsObserverTest, CountsConsumersThatNobodyNamed) {
  metrics_.on_ended("other", test::make_delivery(kNumber, "k"), outcome(Outcome::Kind::kDone),
                    milliseconds(1));
  EXPECT_EQ(value("semel_deliveries_total{consumer=\"other\",source=\"0\",outcome=\"done\"}"), "1");
}

// Runs under ThreadSanitizer too.
TEST_F(MetricsObserverTest, ManyThreadsLoseNoCount) {
  constexpr int kThreads = 8;
  const int kEach = static_cast<int>(test::rounds(2'000, 600));
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < kEach; ++i) {
        end(outcome(Outcome::Kind::kDone, "", 1));
        if (i % 100 == 0) {
          metrics_.on_consumer({"other-" + std::to_string(t), {}, {}, {}});
          (void)metrics_.text(MetricsFormat::kOpenMetrics);
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(value(of_consumer("semel_effects_total")), std::to_string(kThreads * kEach));
}

TEST_F(MetricsObserverTest, AConsumerThatBeginsAgainGoesOnCounting) {
  end(outcome(Outcome::Kind::kDone));
  metrics_.on_consumer({"payments", {"kafka", "held"}, "http", hours(48)});
  end(outcome(Outcome::Kind::kDone));
  EXPECT_EQ(value(deliveries("kafka", "done")), "2");
  EXPECT_EQ(value(of_consumer("semel_dedup_ttl_seconds")), "172800");
}

// Counts of another source under the new one's name would be wrong.
TEST_F(MetricsObserverTest, WithAnotherSourceItBeginsAtZero) {
  end(outcome(Outcome::Kind::kDone));
  metrics_.on_consumer({"payments", {"rabbitmq", "held"}, "http", hours(24)});
  EXPECT_EQ(value(deliveries("kafka", "done")), "(none)");
  EXPECT_EQ(value(deliveries("rabbitmq", "done")), "0");
  EXPECT_EQ(value(of_consumer("semel_effects_total")), "0");
  end(outcome(Outcome::Kind::kDone));
  EXPECT_EQ(value(deliveries("rabbitmq", "done")), "1");
}

}  // namespace
}  // namespace semel
