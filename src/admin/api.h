// Api: the HTTP API of a run, below /api. docs/api.md describes its resources.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <semel/admin/records.h>
#include <semel/guarantee.h>
#include <semel/result.h>
#include <semel/spi/store.h>

#include "admin/age_picture.h"
#include "admin/http_message.h"
#include "admin/overview.h"
#include "admin/readiness.h"
#include "admin/reload.h"
#include "config/config.h"
#include "core/role.h"
#include "telemetry/recent_deliveries.h"

namespace semel::admin {

class ClaimMemory;
class DepartedConsumers;
class Jobs;

// Messages that wait for a consumer, at its source and in the store.
struct Backlog {
  bool is_consumer = false;              // the run has a consumer of that name
  std::optional<std::int64_t> messages;  // nullopt: unknown now
};

// The data behind the API. Called on several threads.
struct ApiSources {
  const config::Config* config = nullptr;  // borrowed
  // The newest config, where a reload may bring another: each request uses one as `config`.
  std::function<std::shared_ptr<const config::Config>()> current_config;
  std::string store_name;  // as people name it: "sqlite ./semel.db"
  std::function<Overview()> overview;
  std::function<Readiness()> readiness;
  std::function<Backlog(std::string_view consumer)> backlog;
  std::function<Guarantee(const config::ConsumerConfig&)> guarantee;
  // Calls `use` with the store of the run, which is valid until `use` returns; false where the run
  // has none now.
  std::function<bool(const std::function<void(Store&)>& use)> with_store;
  Jobs* jobs = nullptr;           // borrowed
  ClaimMemory* claims = nullptr;  // borrowed
  // Consumers whose claims may be out; null: no reload removes one. Borrowed.
  const DepartedConsumers* departed = nullptr;
  // The last deliveries of this process; null: not kept. Borrowed.
  const telemetry::RecentDeliveries* recent = nullptr;
  // Ages of the duplicates of a consumer; empty: not counted.
  std::function<DuplicateAges(const std::string& consumer)> duplicate_ages;
  // Told what a replay of one letter came to; empty: nobody is.
  std::function<void(const std::string& consumer, ReplayReport::Result)> replayed;
  // Examines store and brokers; a JSON document.
  std::function<Result<std::string>(Store&)> doctor;
  // Takes up the config as its file is now, or, with `dry_run`, reports what that would change.
  std::function<Reloaded(bool dry_run)> reload;
  std::function<ReloadState()> reload_state;
  // Drains a consumer of this process, and starts it again. Errors: R343, R345, R358.
  std::function<Result<DrainState>(const std::string& consumer)> drain;
  std::function<Result<DrainState>(const std::string& consumer)> resume;
};

// The sender of a request.
struct Caller {
  std::string name;  // of the token, or the user of a socket; empty: nobody needs one
  std::optional<core::Role> role = core::Role::kRead;  // none: it has its claims alone
  std::span<const std::string> claims = {};            // consumers that it may claim from; borrowed
  bool by_socket = false;  // without a token, as the config of the socket says
};

class Api {
 public:
  // Rate of a caller.
  static constexpr double kRequestsPerSecond = 50;
  static constexpr double kBurst = 100;
  // Its rate of calls about claims, which do work.
  static constexpr double kClaimCallsPerSecond = 5'000;
  static constexpr double kClaimBurst = 10'000;
  // How long an answer may take; `doctor` asks brokers too.
  static constexpr std::chrono::seconds kPatience{10};
  static constexpr std::chrono::seconds kDoctorPatience{30};

  static std::unique_ptr<Api> create(ApiSources sources);
  virtual ~Api() = default;

  // Whether the API answers this path.
  static bool owns(std::string_view path) noexcept { return path.starts_with("/api/"); }
  // One request at a time; without a caller the token was missing or wrong. Its tasks use the
  // sources, and end before this object.
  virtual HttpReply answer(const HttpRequest& request, const std::optional<Caller>& caller) = 0;
  // Counts a request for a page, which uses the same sources: returns an answer where the caller
  // exceeds its rate. Not concurrently with answer().
  virtual std::optional<HttpResponse> refusal_of_rate(const Caller& caller) = 0;
};

}  // namespace semel::admin
