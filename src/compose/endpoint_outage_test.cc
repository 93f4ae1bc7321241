// The engine with a handler that calls an endpoint: the effects of an outage, and of a message that
// the endpoint cannot accept.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <semel/admin/records.h>
#include <semel/memory.h>
#include <semel/reason.h>

#include "compose/test_engine_parts.h"
#include "engine/engine.h"
#include "handlers/http/http_handler.h"
#include "system/mutex.h"
#include "tests/support/builders.h"
#include "tests/support/http_server.h"
#include "tests/support/memory_source.h"
#include "tests/support/recording_observer.h"
#include "tests/support/set_variable.h"

namespace semel::compose {
namespace {

using std::chrono::milliseconds;

class EndpointOutage : public testing::Test {
 protected:
  EndpointOutage() : store_(make_memory_store()) {
    recipe_.parts.push_back(core::KeyPart::parse("json:/id").value());
    number_ = store_->attach({"emails", recipe_.hash(), false, std::nullopt}).value();
  }

  void send(std::size_t count) {
    for (std::size_t n = 0; n < count; ++n) {
      topic_.add(test::payload_with_id(fmt::format("k-{}", n), n));
    }
    topic_.finish();
  }
  std::size_t dead_letters() {
    DeadLetterFilter filter;
    filter.limit = 10'000;
    return store_->facets().dead_letters->list(filter)->size();
  }
  engine::Ended run() {
    core::HttpSpec spec;
    spec.consumer = "emails";
    spec.url = server_.url("/send");
    spec.timeout = std::chrono::seconds(20);
    spec.response_limit = 1 << 20;
    auto handler = handlers::make_http_handler(std::move(spec), system_environment());
    EXPECT_TRUE(handler) << handler.error().message;
    engine::EngineOptions options;
    options.consumer = "emails";
    options.number = number_;
    options.recipe = recipe_;
    options.once = true;
    options.workers = 2;
    RetryPolicy retry;
    retry.attempts = 3;
    retry.first = milliseconds(10);
    retry.longest = milliseconds(100);
    auto parts = engine::test_engine_parts({"emails", number_, *store_, seen_, gate_, {}, retry},
                                           std::make_unique<test::MemorySource>(topic_), *handler);
    return engine::Engine::create(std::move(options), std::move(parts))->run();
  }

  const test::SetVariable no_proxy_{"no_proxy", "127.0.0.1"};
  std::unique_ptr<Store> store_;
  core::KeyRecipe recipe_;
  ConsumerNumber number_{};
  test::HttpServer server_;
  test::MemoryTopic topic_;
  test::RecordingObserver seen_;
  system::Mutex gate_;
};

// With the retry policy alone, each message would be given up within a second.
TEST_F(EndpointOutage, NobodyIsGivenUpWhileAllFail) {
  constexpr milliseconds kBroken{3'000};
  std::mutex mutex;
  std::optional<std::chrono::steady_clock::time_point> first;
  std::size_t broken = 0;
  server_.on("/send", [&](const test::HttpRequest&, std::size_t) {
    const std::scoped_lock lock(mutex);
    const auto now = std::chrono::steady_clock::now();
    if (!first) first = now;
    if (now - *first >= kBroken) return test::reply(200);
    ++broken;
    return test::reply(500, "", "Retry-After: 0\r\n");
  });
  send(300);
  EXPECT_EQ(run(), engine::Ended::kFinished);
  EXPECT_GT(broken, 10U) << "or there was no outage";
  EXPECT_EQ(dead_letters(), 0U);
  EXPECT_EQ(seen_.count(Outcome::Kind::kDone), 300U);
}

// One message in ten is bad; in the end only these are left.
TEST_F(EndpointOutage, WhatTheEndpointCannotTakeIsGivenUp) {
  const auto bad = [](const std::string& key) { return key.find("7\"") != std::string::npos; };
  server_.on("/send", [&](const test::HttpRequest& request, std::size_t) {
    return test::reply(bad(request.header("idempotency-key")) ? 500 : 200);
  });
  send(200);
  EXPECT_EQ(run(), engine::Ended::kFinished);
  EXPECT_EQ(dead_letters(), 20U);
  EXPECT_EQ(seen_.count(Outcome::Kind::kDone), 180U);
}

}  // namespace
}  // namespace semel::compose
