#include "traces/span_exporter.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "system/mutex.h"
#include "tests/support/otlp.h"
#include "tests/support/test_environment.h"
#include "tests/support/waiting.h"

namespace semel::traces {
namespace {

using std::chrono::milliseconds;
using Kind = PostAnswer::Kind;

constexpr milliseconds kNever = std::chrono::hours(1);

// Keeps the posts of the exporter, and answers them as a test wants. Thread-safe.
class Wire {
 public:
  // Each post waits until it is let go, or given up.
  void hold(bool holds) SEMEL_EXCLUDES(mutex_) {
    const system::MutexLock lock(mutex_);
    holds_ = holds;
    changed_.notify_all();
  }
  // Sets the answers of the next posts; all later posts succeed.
  void answer(std::vector<PostAnswer> answers) SEMEL_EXCLUDES(mutex_) {
    const system::MutexLock lock(mutex_);
    answers_ = std::move(answers);
  }
  void give_up() SEMEL_EXCLUDES(mutex_) {
    const system::MutexLock lock(mutex_);
    given_up_ = true;
    changed_.notify_all();
  }
  PostAnswer post(const std::string& body) SEMEL_EXCLUDES(mutex_) {
    auto read = test::read_otlp(body);
    EXPECT_TRUE(read.flaws.empty()) << read.flaws.front();
    const system::MutexLock lock(mutex_);
    posts_.push_back(std::move(read.spans));
    changed_.wait(mutex_, [this]() SEMEL_REQUIRES(mutex_) { return !holds_ || given_up_; });
    if (holds_) return {Kind::kAway, 0, "given up", std::nullopt};
    if (answers_.empty()) return {};
    PostAnswer next = answers_.front();
    answers_.erase(answers_.begin());
    return next;
  }
  void end_by(std::chrono::steady_clock::time_point time) SEMEL_EXCLUDES(mutex_) {
    {
      const system::MutexLock lock(mutex_);
      end_by_ = time;
    }
    give_up();
  }
  std::chrono::steady_clock::time_point last_moment() SEMEL_EXCLUDES(mutex_) {
    const system::MutexLock lock(mutex_);
    return end_by_;
  }
  // The spans of each post so far.
  std::vector<std::vector<test::OtlpSpan>> posts() SEMEL_EXCLUDES(mutex_) {
    const system::MutexLock lock(mutex_);
    return posts_;
  }

 private:
  system::Mutex mutex_;
  system::CondVar changed_;
  bool holds_ SEMEL_GUARDED_BY(mutex_) = false;
  bool given_up_ SEMEL_GUARDED_BY(mutex_) = false;
  std::chrono::steady_clock::time_point end_by_ SEMEL_GUARDED_BY(mutex_);
  std::vector<PostAnswer> answers_ SEMEL_GUARDED_BY(mutex_);
  std::vector<std::vector<test::OtlpSpan>> posts_ SEMEL_GUARDED_BY(mutex_);
};

class WirePost final : public SpanPost {
 public:
  explicit WirePost(Wire& wire) : wire_(wire) {}
  PostAnswer post(const std::string& body) override { return wire_.post(body); }
  void end_by(std::chrono::steady_clock::time_point time) noexcept override { wire_.end_by(time); }

 private:
  Wire& wire_;
};

// Counts the pauses: the exporter draws one number for each.
class CountedRandom final : public Random {
 public:
  std::uint64_t next() noexcept override {
    const std::uint64_t drawn = random_.next();
    ++drawn_;
    return drawn;
  }
  std::size_t drawn() const noexcept { return drawn_; }

 private:
  test::SeededRandom random_{1};
  std::atomic<std::size_t> drawn_{0};
};

class SpanExporterTest : public testing::Test {
 protected:
  SpanExporterTest() {
    options_.batch = 10;
    options_.wait = kNever;
    options_.first_backoff = milliseconds(1);
    options_.patience = kNever;
    options_.clock = &clock_;
  }
  SpanExporter& exporter() {
    if (!exporter_) {
      exporter_ = std::make_unique<SpanExporter>(std::make_unique<WirePost>(wire_),
                                                 TracedResource{"shop", "i-1"}, options_, random_,
                                                 [this](const std::string& text) {
                                                   const system::MutexLock lock(mutex_);
                                                   told_.push_back(text);
                                                 });
    }
    return *exporter_;
  }
  void add(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      Span span;
      span.name = "span " + std::to_string(added_++);
      span.context.trace_id.fill(1);
      span.context.span_id.fill(2);
      exporter().on_span(std::move(span));
    }
  }
  bool exported(std::uint64_t count) {
    return test::comes_true([&] { return exporter().counts().exported == count; });
  }
  bool posted(std::size_t count) {
    return test::comes_true([&] { return wire_.posts().size() == count; });
  }
  std::vector<std::string> told() SEMEL_EXCLUDES(mutex_) {
    const system::MutexLock lock(mutex_);
    return told_;
  }

  Wire wire_;
  CountedRandom random_;
  test::ManualClock clock_;
  ExporterOptions options_;
  system::Mutex mutex_;
  std::vector<std::string> told_ SEMEL_GUARDED_BY(mutex_);
  std::size_t added_ = 0;
  std::unique_ptr<SpanExporter> exporter_;
};

TEST_F(SpanExporterTest, SendsFullBatchesAtOnceAndTheRestAtTheEnd) {
  add(25);
  EXPECT_TRUE(exported(20));
  exporter().end(kNever);
  const auto posts = wire_.posts();
  ASSERT_EQ(posts.size(), 3U);
  EXPECT_EQ(posts[0].size(), 10U);
  EXPECT_EQ(posts[1].size(), 10U);
  ASSERT_EQ(posts[2].size(), 5U);
  EXPECT_EQ(posts[2][4].name, "span 24") << "in their order";
  EXPECT_EQ(exporter().counts().exported, 25U);
  EXPECT_EQ(exporter().counts().all_dropped(), 0U);
  EXPECT_TRUE(told().empty());
}

TEST_F(SpanExporterTest, ALoneSpanDoesNotWaitForABatchForEver) {
  options_.wait = milliseconds(1);
  add(1);
  EXPECT_TRUE(exported(1));
}

TEST_F(SpanExporterTest, WhatFindsNoRoomIsDroppedAndNobodyWaits) {
  options_.wait = milliseconds(1);
  options_.queue = 4;
  wire_.hold(true);
  add(1);
  ASSERT_TRUE(posted(1));
  add(7);
  EXPECT_EQ(exporter().counts().dropped[SpanExporter::kQueueFull], 3U);
  wire_.hold(false);
  EXPECT_TRUE(exported(5));
  add(1);
  EXPECT_TRUE(exported(6)) << "there is room again";
  EXPECT_EQ(exporter().counts().all_dropped(), 3U);
}

TEST_F(SpanExporterTest, ACollectorThatComesBackGetsWhatWaitedAndItIsToldOnce) {
  options_.wait = milliseconds(1);
  const PostAnswer away{Kind::kAway, 0, "nobody\nlistens", std::nullopt};
  wire_.answer({away, away, away});
  add(3);
  EXPECT_TRUE(exported(3));
  EXPECT_TRUE(test::comes_true([&] { return told().size() == 2; }));
  EXPECT_NE(told()[0].find("R350"), std::string::npos) << told()[0];
  EXPECT_NE(told()[0].find("nobody\\x0alistens"), std::string::npos) << told()[0];
  EXPECT_EQ(told()[1], "spans are exported again; 0 were lost meanwhile");
  add(1);
  EXPECT_TRUE(exported(4));
  EXPECT_EQ(told().size(), 2U);
}

TEST_F(SpanExporterTest, WhatIsRefusedIsNotSentAgain) {
  const PostAnswer refused{Kind::kRefused, 0, "it answered 401", std::nullopt};
  wire_.answer({refused, refused});
  add(10);
  ASSERT_TRUE(posted(1));
  add(10);
  ASSERT_TRUE(posted(2));
  add(10);
  EXPECT_TRUE(exported(10));
  EXPECT_EQ(exporter().counts().dropped[SpanExporter::kRefused], 20U);
  EXPECT_TRUE(test::comes_true([&] { return told().size() == 2; }));
  EXPECT_NE(told()[1].find("20 were lost"), std::string::npos) << told()[1];
}

TEST_F(SpanExporterTest, ACollectorThatComesAndGoesIsToldOfOnceInAWhile) {
  const PostAnswer refused{Kind::kRefused, 0, "it answered 401", std::nullopt};
  const PostAnswer partly{Kind::kTaken, 1, "too old", std::nullopt};
  wire_.answer({refused, partly, refused, partly});
  add(40);
  EXPECT_TRUE(exported(18));
  EXPECT_TRUE(test::comes_true([&] { return told().size() == 3; }));
  EXPECT_NE(told()[1].find("exported again"), std::string::npos) << told()[1];
  EXPECT_NE(told()[2].find("rejects 1 spans"), std::string::npos) << told()[2];
  clock_.advance(options_.between_lines);
  wire_.answer({refused});
  add(20);
  EXPECT_TRUE(exported(28));
  EXPECT_TRUE(test::comes_true([&] { return told().size() == 5; }));
}

TEST_F(SpanExporterTest, SpansThatACollectorRejectsAreCounted) {
  wire_.answer({{Kind::kTaken, 2, "too old", std::nullopt}});
  add(10);
  EXPECT_TRUE(exported(8));
  EXPECT_EQ(exporter().counts().dropped[SpanExporter::kRefused], 2U);
  EXPECT_TRUE(test::comes_true([&] { return told().size() == 1; }));
  EXPECT_NE(told()[0].find("too old"), std::string::npos) << told()[0];
}

TEST_F(SpanExporterTest, ABatchThatIsNotTakenForTooLongIsDropped) {
  options_.patience = milliseconds(0);
  options_.first_backoff = milliseconds(200);
  wire_.answer({{Kind::kAway, 0, "away", std::nullopt}});
  const auto begin = std::chrono::steady_clock::now();
  add(10);
  EXPECT_TRUE(test::comes_true(
      [&] { return exporter().counts().dropped[SpanExporter::kUnavailable] == 10; }));
  add(10);
  EXPECT_TRUE(exported(10)) << "the next one is tried";
  EXPECT_GE(std::chrono::steady_clock::now() - begin, options_.first_backoff / 2);
}

TEST_F(SpanExporterTest, APauseHoldsForTheNextBatchToo) {
  options_.patience = milliseconds(0);
  const milliseconds asked(300);
  wire_.answer({{Kind::kAway, 0, "too many", asked}});
  const auto begin = std::chrono::steady_clock::now();
  add(20);
  EXPECT_TRUE(exported(10));
  EXPECT_GE(std::chrono::steady_clock::now() - begin, asked);
  EXPECT_EQ(exporter().counts().dropped[SpanExporter::kUnavailable], 10U);
  EXPECT_EQ(wire_.posts().size(), 2U);
}

TEST_F(SpanExporterTest, TheEndDoesNotWaitForACollectorThatIsAway) {
  options_.first_backoff = kNever;
  options_.patience = 3 * kNever;
  options_.longest_backoff = kNever;
  wire_.answer(std::vector<PostAnswer>(5, {Kind::kAway, 0, "away", std::nullopt}));
  add(10);
  // An end before that would find no pause to cut short, and no other try would follow.
  ASSERT_TRUE(test::comes_true([&] { return random_.drawn() == 1; }));
  EXPECT_EQ(told().size(), 1U);
  add(40);
  exporter().end(kNever);
  EXPECT_EQ(exporter().counts().dropped[SpanExporter::kUnavailable], 50U);
  EXPECT_EQ(wire_.posts().size(), 2U) << "one more try, and not one for each batch";
  EXPECT_LT(wire_.last_moment(), std::chrono::steady_clock::now() + kNever / 2)
      << "it has little time";
}

TEST_F(SpanExporterTest, TheEndGivesUpAPostThatHangs) {
  options_.wait = milliseconds(1);
  wire_.hold(true);
  add(1);
  ASSERT_TRUE(posted(1));
  exporter().end(milliseconds(1));
  EXPECT_EQ(exporter().counts().dropped[SpanExporter::kUnavailable], 1U);
  add(1);
  EXPECT_EQ(exporter().counts().dropped[SpanExporter::kUnavailable], 2U) << "it is over";
}

TEST_F(SpanExporterTest, ASmallQueueIsEmptiedBeforeItIsFull) {
  options_.queue = 8;
  add(4);
  EXPECT_TRUE(exported(4));
  add(3);
  EXPECT_EQ(exporter().counts().all_dropped(), 0U);
}

}  // namespace
}  // namespace semel::traces
