// The engine with asynchronous handlers: real strategy, store and threads.
#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <deque>
#include <future>
#include <map>
#include <mutex>
#include <thread>

#include <semel/memory.h>
#include <semel/spi/run_markers.h>

#include "engine/engine.h"
#include "system/mutex.h"
#include "tests/support/builders.h"
#include "tests/support/memory_source.h"
#include "tests/support/recording_observer.h"
#include "tests/support/waiting.h"

namespace semel::engine {
namespace {

using std::chrono::milliseconds;
using test::MemorySource;
using test::MemoryTopic;
using test::payload_with_id;
using Kind = Outcome::Kind;

// An outside service: its own threads answer, in any order.
class Service {
 public:
  using Answer = std::function<Verdict(const std::string& key)>;
  explicit Service(Answer answer, int threads = 2) : answer_(std::move(answer)) {
    for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { serve(); });
  }
  ~Service() {
    {
      const std::scoped_lock lock(mutex_);
      ending_ = true;
    }
    wake_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }
  AsyncHandler handler() {
    return [this](const Message& message, const Attempt&, Completion completion) {
      const std::scoped_lock lock(mutex_);
      ++calls[message.key().text];
      most = std::max(most, ++open_);
      asked_.push_back({message.key().text, std::move(completion)});
      wake_.notify_one();
    };
  }
  // Answers no call before this many are open.
  void hold_until(std::size_t open) {
    const std::scoped_lock lock(mutex_);
    hold_ = open;
  }

  std::map<std::string, int> calls;
  std::size_t most = 0;  // open at a time

 private:
  struct Asked {
    std::string key;
    Completion completion;
  };
  void serve() {
    std::unique_lock lock(mutex_);
    for (;;) {
      wake_.wait(lock, [this] { return ending_ || (!asked_.empty() && open_ >= hold_); });
      if (asked_.empty()) return;
      hold_ = 0;
      Asked asked = std::move(asked_.back());
      asked_.pop_back();
      --open_;
      lock.unlock();
      asked.completion(answer_(asked.key));
      lock.lock();
    }
  }

  const Answer answer_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Asked> asked_;
  std::size_t open_ = 0;
  std::size_t hold_ = 0;
  bool ending_ = false;
  std::vector<std::thread> threads_;
};

class AsyncEngineTest : public testing::Test {
 protected:
  AsyncEngineTest() : store_(make_memory_store()) {
    options_.consumer = "orders";
    options_.number = store_->attach({"orders", "recipe", false, std::nullopt}).value();
    options_.recipe.parts.push_back(core::KeyPart::parse("json:/id").value());
    options_.once = true;
    options_.grace = milliseconds(200);
  }
  std::unique_ptr<Engine> engine(Handler handler) {
    EngineParts parts;
    parts.store = store_.get();
    parts.sources.push_back(std::make_unique<MemorySource>(topic_, test::MemorySourceOptions{}));
    parts.strategy =
        parts.give_up_strategy = [this, handler](const strategies::Services& services) {
          strategies::Context context;
          context.consumer = "orders";
          context.store = store_.get();
          context.handler = handler;
          context.retry = retry_;
          context.hold = false;  // the source redelivers what fails
          context.environment = &system_environment();
          context.observer = &seen_;
          context.services = services;
          return strategies::make_strategy(core::StrategyKind::kStateMachine, std::move(context));
        };
    parts.environment = &system_environment();
    parts.observer = &seen_;
    parts.suspect_gate = &gate_;
    parts.hung = [this](const std::string&) { hung_ = true; };
    return Engine::create(options_, std::move(parts));
  }
  void send(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) topic_.add(payload_with_id("k" + std::to_string(i), 0));
  }

  std::unique_ptr<Store> store_;
  EngineOptions options_;
  RetryPolicy retry_;
  MemoryTopic topic_;
  test::RecordingObserver seen_;
  system::Mutex gate_;
  std::atomic<bool> hung_{false};
};

class AsyncEngines : public AsyncEngineTest, public testing::WithParamInterface<int> {};

TEST_P(AsyncEngines, HundredsAreInFlightAndEachIsDoneOnce) {
  options_.workers = GetParam();
  options_.most_running = 300;
  Service service([](const std::string&) { return done(); });
  service.hold_until(300);
  send(2'000);
  send(500);  // duplicates
  topic_.finish();
  EXPECT_EQ(engine(service.handler())->run(), Ended::kFinished);
  EXPECT_EQ(seen_.count(Kind::kDone), 2'000U);
  EXPECT_EQ(seen_.count(Kind::kDuplicate), 500U);
  EXPECT_EQ(service.most, 300U) << "as many as allowed, and no more";
  EXPECT_EQ(topic_.unsettled(), 0U);
  for (const auto& [key, calls] : service.calls) EXPECT_EQ(calls, 1) << key;
}

TEST_P(AsyncEngines, FailuresComeAgain) {
  options_.workers = GetParam();
  options_.most_running = 50;
  retry_.first = milliseconds(1);
  retry_.longest = milliseconds(5);
  std::mutex mutex;
  std::map<std::string, int> tries;
  Service service([&](const std::string& key) {
    const std::scoped_lock lock(mutex);
    return ++tries[key] < 3 ? retry("503") : done();
  });
  send(200);
  options_.once = false;
  auto running = engine(service.handler());
  std::thread runs([&] { running->run(); });
  EXPECT_TRUE(seen_.wait([&] { return seen_.count(Kind::kDone) >= 200; }, std::chrono::minutes(1)));
  running->stop();
  runs.join();
  for (const auto& [key, calls] : service.calls) EXPECT_EQ(calls, 3) << key;
}

TEST_P(AsyncEngines, TheDrainWaitsForWhatIsOpen) {
  options_.workers = GetParam();
  options_.once = false;
  options_.most_running = 20;
  std::promise<void> go;
  std::shared_future<void> gone = go.get_future().share();
  std::atomic<int> waiting{0};
  Service service([&](const std::string&) {
    ++waiting;
    waiting.notify_all();
    gone.wait();
    return done();
  });
  send(40);
  auto running = engine(service.handler());
  Ended ended{};
  std::thread runs([&] { ended = running->run(); });
  waiting.wait(0);
  running->stop();
  // The engine drains: messages that have not begun are given back.
  EXPECT_TRUE(test::comes_true([&] { return topic_.in_flight() <= options_.most_running; }));
  EXPECT_EQ(seen_.count(Kind::kDone), 0U);
  go.set_value();
  runs.join();
  EXPECT_EQ(ended, Ended::kDrained);
  EXPECT_EQ(seen_.count(Kind::kDone), service.calls.size());
  EXPECT_EQ(topic_.unsettled(), 40U - service.calls.size()) << "what had not begun was given back";
  EXPECT_FALSE(hung_);
}

INSTANTIATE_TEST_SUITE_P(Workers, AsyncEngines, testing::Values(0, 2));

}  // namespace
}  // namespace semel::engine
