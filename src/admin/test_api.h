// An admin listener of a test: its API over a store in memory, with a token for each role.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <semel/admin/audit.h>
#include <semel/admin/records.h>
#include <semel/memory.h>

#include "admin/admin_server.h"
#include "admin/api_route.h"
#include "admin/claim_memory.h"
#include "admin/departed_consumers.h"
#include "admin/jobs.h"
#include "base/json.h"
#include "tests/support/builders.h"
#include "tests/support/http_get.h"

namespace semel::admin {

using core::Role;
inline constexpr const char* kApiConfig =
    "version: 1\n"
    "store: { memory: {} }\n"
    "consumers:\n"
    "  - { name: payments, source: { stdin: {} }, key: json:/id, handler: { native: pay } }\n";

// With a consumer that clients claim from.
inline constexpr const char* kClaimsConfig =
    "version: 1\n"
    "store: { memory: {} }\n"
    "admin: { auth: { tokens: [{ name: worker, secret: the secret of workers, claims: [mails] }] } "
    "}"
    "\n"
    "consumers:\n"
    "  - { name: payments, source: { stdin: {} }, key: json:/id, handler: { native: pay } }\n"
    "  - { name: mails, source: { claims: {} }, limits: { result: 100B } }\n";

inline std::string secret_of(Role role) { return "the secret of " + std::string(to_string(role)); }

inline std::string text_at(const std::string& body, const std::string& pointer) {
  json::Document document;
  if (!document.parse(body)) return "(no JSON)";
  const auto found = document.at(json::Pointer::parse(pointer).value());
  if (!found) return "(wrong)";
  if (const auto* text = std::get_if<std::string>(&*found)) return *text;
  if (const auto* number = std::get_if<json::Integer>(&*found)) return std::string(number->written);
  if (std::holds_alternative<json::Absent>(*found)) return "(absent)";
  return "(other)";
}

class ApiTest : public ::testing::Test {
 protected:
  explicit ApiTest(const char* config = kApiConfig)
      : config_(config::load_text(config, "semel.yaml").config.value()),
        store_(make_memory_store()),
        number_(store_->attach({"payments", "recipe", false, {}}).value()) {
    overview_.store = "memory";
    overview_.phase = "ready";
    ConsumerOverview consumer;
    consumer.name = "payments";
    consumer.state = "running";
    consumer.guarantee = "at_least_once";
    overview_.consumers.push_back(consumer);
  }

  virtual ApiSources sources() {
    ApiSources made;
    made.config = &config_;
    made.store_name = "memory";
    made.overview = [this] { return overview_; };
    made.readiness = [] { return Readiness(); };
    made.backlog = [](std::string_view name) { return Backlog{name == "payments", 42}; };
    made.guarantee = [](const config::ConsumerConfig&) { return Guarantee(); };
    made.with_store = [this](const auto& use) { return with_store(use); };
    made.jobs = &jobs_;
    made.claims = &claims_;
    made.departed = &departed_;
    made.doctor = [](Store&) -> Result<std::string> { return "{\"ok\":true}"; };
    made.reload = [this](bool) { return reloaded_; };
    made.reload_state = [this] { return reload_state_; };
    made.drain = [this](const std::string&) { return drained_; };
    made.resume = [this](const std::string&) { return resumed_; };
    return made;
  }

  // The store that the API uses.
  virtual Store& served() { return *store_; }
  bool with_store(const std::function<void(Store&)>& use) {
    if (running_) use(served());
    return running_;
  }

  // With a token for each role, or none.
  void open(bool tokens) {
    AdminOptions options;
    options.listen = {"127.0.0.1", 0};
    if (tokens) {
      for (const Role role : {Role::kRead, Role::kOperator, Role::kAdmin}) {
        options.tokens.push_back(
            {std::string(to_string(role)), secret_of(role), role, claims_of_tokens_});
      }
    }
    const auto metrics = [](MetricsFormat) { return std::string(); };
    auto server = AdminServer::open(std::move(options), {metrics, sources()});
    ASSERT_TRUE(server) << server.error().message;
    server_ = std::move(*server);
  }

  test::HttpAnswer get(const std::string& path, std::vector<std::string> headers = {},
                       const char* method = "GET") const {
    return test::http_get(server_->port(), path, headers, method);
  }
  test::HttpAnswer get_as(Role role, const std::string& path) const {
    return get(path, {"Authorization: Bearer " + secret_of(role)});
  }

  // With the token of the role.
  test::HttpAnswer post_as(Role role, const std::string& path, const std::string& body = "{}",
                           std::vector<std::string> headers = {}) const {
    std::string sent = "POST " + path + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n";
    headers.push_back("Authorization: Bearer " + secret_of(role));
    headers.push_back("Content-Type: application/json");
    headers.push_back("Content-Length: " + std::to_string(body.size()));
    for (const std::string& header : headers) sent += header + "\r\n";
    return test::http_answer(test::http_raw(server_->port(), sent + "\r\n" + body));
  }

  Message message(const std::string& key) {
    Message::Parts parts = test::make_parts(number_, key, "{\"secret\":1}");
    parts.key.id = config_.consumers[0].key.id_of(number_, key);
    parts.headers.push_back({"x-card", "4111"});
    return Message(std::move(parts));
  }
  void finish(const std::string& key, Finish::To to, const std::string& reason = {}) {
    const Message one = message(key);
    const Message* const pointer = &one;
    const auto claims = store_->claim({&pointer, 1}, {}).value();
    Finish finish;
    finish.to = to;
    finish.lease = std::get<Acquired>(claims[0]).lease;
    finish.reason = reason;
    finish.error = error_;
    finish.result = to == Finish::To::kCompleted ? "the result" : "";
    finish.keep = to == Finish::To::kCompleted ? nullptr : &one;
    ASSERT_EQ(store_->finish({&finish, 1}).value()[0], Applied::kYes);
  }

  config::Config config_;
  const std::unique_ptr<Store> store_;
  const ConsumerNumber number_;
  std::atomic<bool> running_ = true;
  std::string error_ = "it went wrong";  // of what is finished
  Reloaded reloaded_ = config::Difference{
      {{"payments", config::ConsumerChange::Kind::kChanged, {{"timeout", "20s", "30s"}}}},
      {"emails"},
      false,
      false,
      {}};
  ReloadState reload_state_;
  Result<DrainState> drained_ = DrainState{"draining", 3, true};
  Result<DrainState> resumed_ = DrainState();
  Overview overview_;
  Jobs jobs_{config_, [this](const auto& use) { return with_store(use); },
             std::chrono::milliseconds(5)};
  ClaimMemory claims_;
  DepartedConsumers departed_;
  std::vector<std::string> claims_of_tokens_;
  std::unique_ptr<AdminServer> server_;
};

}  // namespace semel::admin
