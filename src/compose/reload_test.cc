// A service that changes to another config, drains a consumer, and is stopped in between.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <semel/admin/records.h>
#include <semel/environment.h>
#include <semel/spi/held_messages.h>

#include "compose/compose.h"
#include "config/difference.h"
#include "core/failpoints.h"
#include "stores/sqlite/connection.h"
#include "system/mutex.h"
#include "tests/support/recording_observer.h"
#include "tests/support/temp_dir.h"
#include "tests/support/test_environment.h"
#include "tests/support/waiting.h"

namespace semel::compose {
namespace {

using Phase = Service::Phase;

// The work that the handlers of a test have done, by consumer and key.
class Effects {
 public:
  void add(const std::string& key) {
    const system::MutexLock lock(mutex_);
    ++counts_[key];
    order_.push_back(key);
  }
  std::vector<std::string> in_order() const {
    const system::MutexLock lock(mutex_);
    return order_;
  }
  int of(const std::string& key) const {
    const system::MutexLock lock(mutex_);
    const auto found = counts_.find(key);
    return found == counts_.end() ? 0 : found->second;
  }

 private:
  mutable system::Mutex mutex_;
  std::map<std::string, int> counts_ SEMEL_GUARDED_BY(mutex_);
  std::vector<std::string> order_ SEMEL_GUARDED_BY(mutex_);
};

std::string queue_consumer(std::string_view name, std::string_view more = "") {
  return fmt::format(
      "  - name: {}\n    source: {{ queue: {{}} }}\n    key: json:/id\n"
      "    handler: {{ native: {} }}\n{}",
      name, name, more);
}

config::Config config_in(const test::TempDir& folder, const std::string& consumers,
                         std::string_view more = "", std::string_view store = "") {
  auto loaded = config::load_text(
      fmt::format("version: 1\nstore: {{ sqlite: {{ path: {}{} }} }}\n{}consumers:\n{}",
                  folder.file("semel.db"), store, more, consumers),
      "semel.yaml");
  EXPECT_TRUE(loaded.config) << (loaded.diagnostics.empty()
                                     ? std::string()
                                     : config::format(loaded.diagnostics.front(), false));
  return loaded.config.value_or(config::Config{});
}

ServiceOptions options_with_a() {
  ServiceOptions options;
  options.natives["a"] = {PlainHandler([](const Message&, const Attempt&) { return done(); }),
                          ApplyHandler()};
  return options;
}

class ServiceReload : public ::testing::Test {
 protected:
  ~ServiceReload() override {
    release();
    if (!run_.joinable()) return;
    service_->stop();
    run_.join();
  }

  // Handlers "a", "b" and "c" count; messages whose key begins with "hang" wait for release().
  void start(config::Config config) {
    config_ = std::move(config);
    ServiceOptions options;
    for (const char* name : {"a", "b", "c"}) {
      options.natives[name] = {
          PlainHandler([this, name = std::string(name)](const Message& message, const Attempt&) {
            const std::string key(message.key().text);
            if (key.starts_with("hang")) {
              ++hanging_;
              released_.wait(false);
            }
            effects_.add(name + " " + key);
            return done();
          }),
          ApplyHandler()};
    }
    options.observers.push_back(&seen_);
    options.environment = &environment_;
    options.on_gone = [this](const std::string& name) {
      if (during_gone_) during_gone_();
      const system::MutexLock lock(gone_mutex_);
      gone_.push_back(name);
    };
    auto built = Service::build(config_, std::move(options));
    ASSERT_TRUE(built) << built.error().message;
    service_ = *std::move(built);
    run_ = std::thread([this] { code_ = service_->run(); });
  }
  void release() {
    released_ = true;
    released_.notify_all();
  }

  // Sends all keys together, each with its ordering group.
  void send_all(std::string_view consumer,
                const std::vector<std::pair<std::string, std::string>>& keys_and_lines) {
    Store& store = service_->store();
    const auto number = store.facets().records->consumer(std::string(consumer)).value();
    ASSERT_TRUE(number) << consumer;
    std::vector<OutgoingMessage> messages;
    for (const auto& [key, line] : keys_and_lines) {
      OutgoingMessage& message = messages.emplace_back();
      message.payload = fmt::format("{{\"id\":\"{}\",\"line\":\"{}\"}}", key, line);
    }
    ASSERT_TRUE(store.facets().held->append(*number, messages));
  }
  void send(std::string_view consumer, const std::string& key) { send_all(consumer, {{key, key}}); }
  bool done_once(const std::string& key) {
    return test::comes_true([&] { return effects_.of(key) == 1; });
  }
  Phase phase(std::string_view name) {
    for (const auto& [consumer, phase] : service_->phases()) {
      if (consumer == name) return phase;
    }
    return Phase::kOver;
  }
  bool comes_to(std::string_view name, Phase wanted) {
    return test::comes_true([&] { return phase(name) == wanted; });
  }
  bool settles() {
    return test::comes_true([&] { return service_->unsettled().empty(); });
  }
  Result<void> take(const config::Config& next) {
    const config::Difference difference = config::difference(config_, next);
    if (auto fine = service_->check(next, difference); !fine) return fine;
    if (!service_->take(std::make_shared<const config::Config>(next), difference)) {
      return failure({ErrorKind::kUnavailable, "", "the run ends", {}});
    }
    config_ = next;
    return {};
  }
  std::vector<std::string> gone() {
    const system::MutexLock lock(gone_mutex_);
    return gone_;
  }

  config::Config config_of(const std::string& consumers, std::string_view more = "",
                           std::string_view store = "") const {
    return config_in(folder_, consumers, more, store);
  }

  const test::TempDir folder_;
  config::Config config_;
  Effects effects_;
  std::atomic<int> hanging_{0};
  std::atomic<bool> released_{false};
  test::RecordingObserver seen_;
  system::Mutex gone_mutex_;
  std::vector<std::string> gone_ SEMEL_GUARDED_BY(gone_mutex_);
  std::function<void()> during_gone_;
  std::unique_ptr<sqlite::Connection> other_program_;
  test::HookedFailpoints failpoints_;
  Environment environment_{system_environment().clock, system_environment().random, &failpoints_};
  std::unique_ptr<Service> service_;
  std::thread run_;
  std::atomic<int> code_{-1};
};

TEST_F(ServiceReload, AConsumerThatDidNotChangeGoesOnWhileAnotherIsDrained) {
  start(config_of(queue_consumer("a") + queue_consumer("b")));
  send("a", "hang");
  ASSERT_TRUE(test::comes_true([&] { return hanging_ == 1; }));
  ASSERT_TRUE(take(config_of(queue_consumer("a", "    timeout: 77s\n") + queue_consumer("b"))));
  EXPECT_EQ(phase("a"), Phase::kDraining);
  EXPECT_EQ(service_->unsettled(), std::vector<std::string>{"a"});
  send("a", "hang later");
  send("b", "meanwhile");
  EXPECT_TRUE(done_once("b meanwhile"));
  EXPECT_EQ(phase("b"), Phase::kRunning);
  EXPECT_EQ(hanging_, 1) << "the next engine begins when this one has ended";
  release();
  EXPECT_TRUE(settles());
  EXPECT_TRUE(done_once("a hang later"));
  EXPECT_EQ(effects_.of("a hang"), 1);
}

TEST_F(ServiceReload, ConsumersComeAndGo) {
  start(config_of(queue_consumer("a") + queue_consumer("b")));
  ASSERT_TRUE(take(config_of(queue_consumer("b") + queue_consumer("c"))));
  ASSERT_TRUE(settles());
  EXPECT_EQ(gone(), std::vector<std::string>{"a"});
  send("c", "new");
  EXPECT_TRUE(done_once("c new"));
  send("a", "for nobody");
  EXPECT_FALSE(service_->drain("a")) << "there is none";
  ASSERT_TRUE(take(config_of(queue_consumer("a"))));
  EXPECT_TRUE(done_once("a for nobody")) << "what was kept for it is there when it comes back";
  ASSERT_TRUE(settles());
  EXPECT_EQ(service_->phases().size(), 1U);
}

// A consumer has only one engine at a time, however fast configs change.
TEST_F(ServiceReload, AReloadDuringAReloadWaitsForTheSameEnd) {
  start(config_of(queue_consumer("a")));
  send("a", "hang");
  ASSERT_TRUE(test::comes_true([&] { return hanging_ == 1; }));
  ASSERT_TRUE(take(config_of(queue_consumer("b"))));
  EXPECT_EQ(phase("a"), Phase::kDraining);
  ASSERT_TRUE(take(config_of(queue_consumer("a", "    timeout: 77s\n"))));
  ASSERT_TRUE(take(config_of(queue_consumer("a", "    timeout: 78s\n") + queue_consumer("c"))));
  send("a", "hang later");
  ASSERT_TRUE(comes_to("c", Phase::kRunning));
  send("c", "meanwhile");
  EXPECT_TRUE(done_once("c meanwhile"));
  EXPECT_EQ(hanging_, 1);
  EXPECT_EQ(phase("a"), Phase::kDraining);
  release();
  EXPECT_TRUE(done_once("a hang later"));
  EXPECT_TRUE(settles());
  EXPECT_EQ(effects_.of("a hang"), 1);
  EXPECT_EQ(gone(), std::vector<std::string>{"b"});
}

TEST_F(ServiceReload, AHandlerThatHangsHoldsUpItsOwnConsumerAlone) {
  start(config_of(queue_consumer("a") + queue_consumer("b"), "drain_timeout: 0s\n"));
  send("a", "hang");
  ASSERT_TRUE(test::comes_true([&] { return hanging_ == 1; }));
  ASSERT_TRUE(take(config_of(queue_consumer("a", "    timeout: 77s\n") + queue_consumer("b"),
                             "drain_timeout: 0s\n")));
  ASSERT_TRUE(test::comes_true([&] { return !seen_.troubles().empty(); }));
  EXPECT_EQ(seen_.troubles().front().where, "handler");
  send("b", "goes on");
  EXPECT_TRUE(done_once("b goes on"));
  EXPECT_EQ(phase("a"), Phase::kDraining);
  release();
  EXPECT_TRUE(settles());
  send("a", "after");
  EXPECT_TRUE(done_once("a after"));
  EXPECT_EQ(effects_.of("a hang"), 1);
}

TEST_F(ServiceReload, AStopInTheMiddleBeginsNothingMore) {
  start(config_of(queue_consumer("a") + queue_consumer("b")));
  send("a", "hang");
  ASSERT_TRUE(test::comes_true([&] { return hanging_ == 1; }));
  ASSERT_TRUE(take(config_of(queue_consumer("a", "    timeout: 77s\n") + queue_consumer("b"))));
  service_->stop();
  EXPECT_FALSE(take(config_of(queue_consumer("a"))));
  release();
  run_.join();
  EXPECT_EQ(code_, 0);
  EXPECT_EQ(effects_.of("a hang"), 1) << "the first stop finishes what runs";
}

TEST_F(ServiceReload, ADrainedConsumerWaitsToBeResumedOverReloads) {
  start(config_of(queue_consumer("a") + queue_consumer("b")));
  ASSERT_EQ(service_->drain("a").value(), true);
  ASSERT_EQ(service_->drain("a").value(), false);
  ASSERT_TRUE(comes_to("a", Phase::kDrained));
  send("a", "waits");
  ASSERT_TRUE(take(config_of(queue_consumer("a", "    timeout: 77s\n") + queue_consumer("b"))));
  ASSERT_TRUE(settles());
  EXPECT_EQ(phase("a"), Phase::kDrained);
  send("b", "goes on");
  EXPECT_TRUE(done_once("b goes on"));
  EXPECT_EQ(effects_.of("a waits"), 0);
  EXPECT_EQ(service_->resume("a").value(), true);
  EXPECT_EQ(service_->resume("a").value(), false);
  EXPECT_TRUE(done_once("a waits"));
  EXPECT_EQ(phase("a"), Phase::kRunning);
}

TEST_F(ServiceReload, ARunWhoseConsumersAreAllDrainedGoesOnUntilItIsStopped) {
  start(config_of(queue_consumer("a")));
  ASSERT_TRUE(service_->drain("a"));
  ASSERT_TRUE(comes_to("a", Phase::kDrained));
  EXPECT_EQ(code_, -1);
  service_->stop();
  run_.join();
  EXPECT_EQ(code_, 0);
}

TEST_F(ServiceReload, AResumeDuringTheDrainBeginsAnewAfterIt) {
  start(config_of(queue_consumer("a") + queue_consumer("b")));
  send("a", "hang");
  ASSERT_TRUE(test::comes_true([&] { return hanging_ == 1; }));
  ASSERT_TRUE(service_->drain("a"));
  EXPECT_EQ(phase("a"), Phase::kDraining);
  EXPECT_EQ(service_->in_flight().at(0).second, 1U);
  ASSERT_TRUE(service_->resume("a"));
  send("a", "hang later");
  send("b", "meanwhile");
  EXPECT_TRUE(done_once("b meanwhile"));
  EXPECT_EQ(hanging_, 1);
  release();
  EXPECT_TRUE(done_once("a hang later"));
}

// The second engine would treat rows that the first one still holds as its own.
TEST_F(ServiceReload, ALineKeepsItsOrderThoughTheStoreTakesNothingBackForAWhile) {
  const std::string in_lines = "    order: { key: json:/line }\n    concurrency: 1\n";
  constexpr std::string_view kImpatient = ", busy: 100ms";
  start(config_of(queue_consumer("a", in_lines), "", kImpatient));
  send_all("a", {{"hang", "x"}, {"first", "y"}});
  ASSERT_TRUE(
      test::comes_true([&] { return hanging_ == 1 && service_->in_flight().at(0).second == 2; }));
  ASSERT_TRUE(
      take(config_of(queue_consumer("a", in_lines + "    timeout: 77s\n"), "", kImpatient)));
  // When the settlement of the running message is recorded, another program locks the file.
  failpoints_.on(failpoint::kSettleBefore, [&] {
    if (other_program_ != nullptr) return;
    sqlite::ConnectionOptions options;
    options.path = folder_.file("semel.db");
    options.patience = std::chrono::seconds(30);
    other_program_ = std::make_unique<sqlite::Connection>(std::move(options));
    other_program_->set_patience(std::chrono::seconds(30));
    other_program_->execute("BEGIN IMMEDIATE");
  });
  release();
  ASSERT_TRUE(test::comes_true([&] { return !seen_.troubles().empty(); }));
  EXPECT_EQ(phase("a"), Phase::kDraining);
  other_program_->roll_back();
  ASSERT_TRUE(settles());
  send_all("a", {{"second", "y"}});
  ASSERT_TRUE(done_once("a second"));
  EXPECT_EQ(effects_.in_order(), (std::vector<std::string>{"a hang", "a first", "a second"}));
}

// Both consumers read one file; running together, they would handle each line twice.
TEST_F(ServiceReload, ARenamedConsumerBeginsOnceItsOldSelfHasEnded) {
  test::write_file(folder_.file("in.jsonl"), "{\"id\":\"hang\"}\n");
  const auto reads = [&](std::string_view name) {
    std::string made = queue_consumer(name);
    return made.replace(made.find("queue: {}"), 9,
                        fmt::format("file: {{ path: {}, from: start }}", folder_.file("in.jsonl")));
  };
  start(config_of(reads("a")));
  ASSERT_TRUE(test::comes_true([&] { return hanging_ == 1; }));
  ASSERT_TRUE(take(config_of(reads("b") + queue_consumer("c"))));
  ASSERT_TRUE(comes_to("c", Phase::kRunning));
  send("c", "meanwhile");
  EXPECT_TRUE(done_once("c meanwhile"));
  EXPECT_EQ(phase("b"), Phase::kStarting);
  EXPECT_EQ(hanging_, 1);
  release();
  EXPECT_TRUE(settles());
  EXPECT_EQ(phase("b"), Phase::kRunning);
  EXPECT_TRUE(done_once("b hang")) << "of another name, it is another consumer's message";
  EXPECT_EQ(effects_.of("a hang"), 1);
}

// Otherwise health would first report the new consumer, and then that it is gone.
TEST_F(ServiceReload, NoneOfTheNameComesWhileOneIsForgotten) {
  start(config_of(queue_consumer("a") + queue_consumer("b")));
  std::atomic<bool> taken{false};
  std::atomic<bool> added{false};
  std::thread adds;
  std::atomic<bool> came_in_between{false};
  during_gone_ = [&] {
    adds = std::thread([&] {
      EXPECT_TRUE(test::comes_true([&] { return taken.load(); }));
      EXPECT_TRUE(take(config_of(queue_consumer("a") + queue_consumer("b"))));
      added = true;
    });
    came_in_between =
        test::comes_true([&] { return added.load(); }, std::chrono::milliseconds(100));
  };
  ASSERT_TRUE(take(config_of(queue_consumer("b"))));
  taken = true;
  ASSERT_TRUE(test::comes_true([&] { return added.load(); }));
  adds.join();
  EXPECT_FALSE(came_in_between);
  EXPECT_TRUE(comes_to("a", Phase::kRunning));
}

TEST_F(ServiceReload, WhatAStartWouldRefuseIsRefused) {
  start(config_of(queue_consumer("a")));
  const auto unknown = take(config_of(queue_consumer("a") + queue_consumer("nobody")));
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code, "E060");
  std::string other_key = queue_consumer("a");
  other_key.replace(other_key.find("json:/id"), 8, "json:/no");
  const auto recipe = take(config_of(other_key));
  ASSERT_FALSE(recipe);
  EXPECT_EQ(recipe.error().code, "R220");
  send("a", "goes on");
  EXPECT_TRUE(done_once("a goes on"));
}

// A reload cannot inspect an engine that does not exist yet; the error shows when the engine
// starts.
TEST_F(ServiceReload, AnEngineThatCannotBeMadeIsTriedAgain) {
  start(config_of(queue_consumer("a")));
  std::string reads = queue_consumer("b");
  reads.replace(reads.find("queue: {}"), 9, "file: { path: /none/in.jsonl }");
  ASSERT_TRUE(take(config_of(queue_consumer("a") + reads)));
  ASSERT_TRUE(test::comes_true([&] { return !seen_.troubles().empty(); }));
  EXPECT_EQ(seen_.troubles().front().where, "start");
  EXPECT_EQ(phase("b"), Phase::kStarting);
  send("a", "goes on");
  EXPECT_TRUE(done_once("a goes on"));
  ASSERT_TRUE(take(config_of(queue_consumer("a") + queue_consumer("b"))));
  EXPECT_TRUE(settles());
  EXPECT_EQ(phase("b"), Phase::kRunning);
  EXPECT_TRUE(seen_.troubles().back().mended);
}

TEST(ReloadOfARunThatEndsByItself, IsRefused) {
  const test::TempDir folder;
  ServiceOptions options = options_with_a();
  options.once = true;
  auto service = Service::build(config_in(folder, queue_consumer("a")), std::move(options));
  ASSERT_TRUE(service) << service.error().message;
  EXPECT_EQ((*service)->check({}, {}).error().code, "R357");
  EXPECT_EQ((*service)->drain("a").error().code, "R358");
  EXPECT_EQ((*service)->run(), 0);
}

TEST(DrainOfAReaderOfStdin, IsRefused) {
  const test::TempDir folder;
  std::string reads = queue_consumer("a");
  reads.replace(reads.find("queue"), 5, "stdin");
  auto service = Service::build(config_in(folder, reads), options_with_a());
  ASSERT_TRUE(service) << service.error().message;
  EXPECT_EQ((*service)->drain("a").error().code, "R358");
  EXPECT_EQ((*service)->drain("b").error().code, "R343");
}

TEST(DrainOfAClaimedConsumer, IsRefused) {
  const test::TempDir folder;
  const std::string claimed =
      "  - { name: a, source: { claims: {} } }\n"
      "admin: { auth: { tokens: [{ name: mailer, secret: 0123456789abcdef, claims: [a] }] } }\n";
  auto service = Service::build(config_in(folder, claimed), options_with_a());
  ASSERT_TRUE(service) << service.error().message;
  EXPECT_EQ((*service)->drain("a").error().code, "R358") << "its clients have its leases";
}

}  // namespace
}  // namespace semel::compose
