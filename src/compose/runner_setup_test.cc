#include "compose/runner_setup.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <limits>
#include <thread>
#include <vector>

namespace semel::compose {
namespace {

constexpr const char* kTwoOfOneSource =
    "store: { memory: {} }\nconsumers:\n"
    "  - { name: payments, source: { native: spool }, key: json:/id }\n"
    "  - { name: refunds, source: { native: spool }, key: json:/id }\n";

RunnerSetup setup_of_two() {
  RunnerSetup setup;
  setup.config = loaded_or_throw(config::load_text(kTwoOfOneSource, "config"));
  return setup;
}

TEST(RunnerSetup, AFactoryIsCalledByOneConsumerAtATime) {
  std::atomic<int> inside{0};
  std::atomic<int> most{0};
  RunnerSetup setup = setup_of_two();
  setup.set_source("spool", {{.name = "spool"}, [&](const SourceRequest&) {
                               most = std::max(most.load(), ++inside);
                               for (int i = 0; i < 10; ++i) std::this_thread::yield();
                               --inside;
                               return Result<std::unique_ptr<Source>>(nullptr);
                             }});
  const FromOwn& own = setup.options.sources.at("spool");
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&own] {
      for (int call = 0; call < 25; ++call) EXPECT_TRUE(own.make({}).has_value());
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(most, 1);
}

TEST(RunnerSetup, AKeyForNoConsumerNamesThoseThereAre) {
  RunnerSetup setup = setup_of_two();
  try {
    setup.set_key("payment", [](const Arrival&) { return std::optional<Bytes>(); });
    ADD_FAILURE() << "it was taken";
  } catch (const SemelError& refused) {
    EXPECT_EQ(refused.error().code, "E062");
    EXPECT_EQ(refused.error().hint, "name one of its consumers: payments, refunds");
  }
}

TEST(RunnerSetup, OnlyAPartOfMessagesCanBeTraced) {
  struct : SpanSink {
    void on_span(Span) noexcept override {}
  } sink;
  RunnerSetup setup = setup_of_two();
  for (const double part : {-1.0, 2.0, std::numeric_limits<double>::quiet_NaN()}) {
    try {
      setup.set_traces(sink, part);
      ADD_FAILURE() << part << " was taken";
    } catch (const SemelError& refused) {
      EXPECT_EQ(refused.error().code, "E015");
    }
    EXPECT_EQ(setup.traces.sink, nullptr);
  }
  for (const double part : {0.0, 0.25, 1.0}) {
    setup.set_traces(sink, part);
    EXPECT_EQ(setup.traces.sample, part);
  }
}

}  // namespace
}  // namespace semel::compose
