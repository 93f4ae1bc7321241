#include "traces/traced_handler.h"

#include <gtest/gtest.h>

#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "core/transaction_recorder.h"
#include "tests/support/test_environment.h"
#include "traces/test_sink.h"

namespace semel::traces {
namespace {

class TracedHandlerTest : public testing::Test {
 protected:
  Handler traced_as(Handler handler) {
    return traced(std::move(handler), "orders", "native", tracer_);
  }
  void expect_span(const Span& span, std::string_view verdict, std::string_view attempt = "1") {
    EXPECT_EQ(span.name, "handler native");
    EXPECT_EQ(span.kind, Span::Kind::kInternal);
    EXPECT_EQ(span.context.trace_id, message_.span()->context.trace_id);
    ASSERT_TRUE(span.parent);
    EXPECT_EQ(*span.parent, message_.span()->context.span_id);
    EXPECT_EQ(attribute(span, "semel.verdict"), verdict);
    EXPECT_EQ(attribute(span, "semel.attempt"), attempt);
    EXPECT_EQ(attribute(span, "semel.consumer"), "orders");
    EXPECT_EQ(span.error, verdict == "done" || verdict == "discard" ? "" : verdict);
    EXPECT_GE(span.end, span.begin);
  }

  test::SeededRandom random_{1};
  KeptSpans spans_;
  Tracer tracer_{spans_, {"shop", 1.0}, random_};
  const Message message_ = traced_message(ConsumerNumber{1}, "k");
  const Message untraced_ = test::make_message(ConsumerNumber{1}, "k");
  Attempt attempt_;
};

TEST_F(TracedHandlerTest, APlainCallIsASpanWithItsVerdict) {
  const Handler handler = traced_as(PlainHandler([](const Message&, const Attempt& attempt) {
    if (attempt.number > 2) throw std::runtime_error("no");
    return attempt.number > 1 ? retry("later") : done();
  }));
  const auto& plain = std::get<PlainHandler>(handler);
  EXPECT_EQ(plain(message_, attempt_).kind(), Verdict::Kind::kDone);
  attempt_.number = 2;
  EXPECT_EQ(plain(message_, attempt_).kind(), Verdict::Kind::kRetry);
  attempt_.number = 3;
  EXPECT_THROW((void)plain(message_, attempt_), std::runtime_error);
  const auto all = spans_.all();
  ASSERT_EQ(all.size(), 3U);
  expect_span(all[0], "done");
  expect_span(all[1], "retry", "2");
  expect_span(all[2], "failed", "3");
  EXPECT_NE(all[0].context.span_id, all[1].context.span_id);
}

TEST_F(TracedHandlerTest, ATransactionalCallIsOneToo) {
  struct NoQueries final : core::TransactionRecorder::Queries {
    Rows query(const RecordedStatement&, StatementList&) override { return {}; }
  } none;
  const Handler handler = traced_as(
      TransactionalHandler([](const Message&, Transaction&) { return discard("nothing to do"); }));
  attempt_.number = 4;
  core::TransactionRecorder recorder(none);
  Transaction transaction(recorder, attempt_);
  EXPECT_EQ(std::get<TransactionalHandler>(handler)(message_, transaction).kind(),
            Verdict::Kind::kDiscard);
  ASSERT_EQ(spans_.all().size(), 1U);
  expect_span(spans_.all()[0], "discard", "4");
}

TEST_F(TracedHandlerTest, OfABatchEachMessageThatIsTracedHasOne) {
  const Handler handler = traced_as(
      BatchHandler([](std::span<const Message* const> messages, std::span<const Attempt>) {
        std::vector<Verdict> verdicts;
        for (std::size_t i = 0; i < messages.size(); ++i) {
          verdicts.push_back(i == 0 ? dead("bad") : done());
        }
        return verdicts;
      }));
  const Message* const batch[] = {&message_, &untraced_, &message_};
  const std::vector<Attempt> attempts(3);
  EXPECT_EQ(std::get<BatchHandler>(handler)(batch, attempts).size(), 3U);
  const auto all = spans_.all();
  ASSERT_EQ(all.size(), 2U);
  expect_span(all[0], "dead");
  expect_span(all[1], "done");
}

TEST_F(TracedHandlerTest, AnAsynchronousCallLastsUntilItsAnswer) {
  std::optional<Completion> kept;
  const Handler handler =
      traced_as(AsyncHandler([&](const Message&, const Attempt&, Completion completion) {
        kept = std::move(completion);
      }));
  std::optional<Verdict> answer;
  const auto begin = [&] {
    std::get<AsyncHandler>(handler)(
        message_, attempt_, Completion([&](std::optional<Verdict> verdict) { answer = verdict; }));
  };
  begin();
  EXPECT_TRUE(spans_.all().empty());
  (*kept)(done());
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->kind(), Verdict::Kind::kDone);
  ASSERT_EQ(spans_.all().size(), 1U);
  expect_span(spans_.all()[0], "done");
  begin();
  kept.reset();
  ASSERT_EQ(spans_.all().size(), 2U);
  expect_span(spans_.all()[1], "failed");
}

TEST_F(TracedHandlerTest, AnAsynchronousCallThatThrowsHasFailedOnce) {
  std::optional<Completion> kept;
  const Handler handler =
      traced_as(AsyncHandler([&](const Message&, const Attempt&, Completion completion) {
        kept = std::move(completion);
        throw std::runtime_error("no");
      }));
  EXPECT_THROW(std::get<AsyncHandler>(handler)(message_, attempt_, Completion([](auto) {})),
               std::runtime_error);
  (*kept)(done());
  ASSERT_EQ(spans_.all().size(), 1U);
  expect_span(spans_.all()[0], "failed");
}

TEST_F(TracedHandlerTest, WhatIsNotTracedIsCalledAsItWas) {
  const Handler plain =
      traced_as(PlainHandler([](const Message&, const Attempt&) { return done(); }));
  EXPECT_EQ(std::get<PlainHandler>(plain)(untraced_, attempt_).kind(), Verdict::Kind::kDone);
  bool answered = false;
  const Handler async = traced_as(AsyncHandler(
      [](const Message&, const Attempt&, Completion completion) { completion(done()); }));
  std::get<AsyncHandler>(async)(untraced_, attempt_, Completion([&](auto) { answered = true; }));
  EXPECT_TRUE(answered);
  EXPECT_TRUE(spans_.all().empty());
}

}  // namespace
}  // namespace semel::traces
