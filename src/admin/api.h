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
class Jobs;

// Messages that wait for a consumer, at its source and in the store.
struct Backlog {
  bool is_consumer = false;              // the run has one of that name
  std::optional<std::int64_t> messages;  // nullopt: not known now
};

// Where the API looks. Called on several threads.
struct ApiSources {
  const config::Config* config = nullptr;  // borrowed
  // The newest one, where a reload may bring another: each request has one as `config`.
  std::function<std::shared_ptr<const config::Config>()> current_config;
  std::string store_name;  // as people name it: "sqlite ./semel.db"
  std::function<Overview()> overview;
  std::function<Readiness()> readiness;
  std::function<Backlog(std::string_view consumer)> backlog;
  std::function<Guarantee(const config::ConsumerConfig&)> guarantee;
  // Calls `use` with the store of the run, which it may use until it returns; false where the run
  // has none now.
  std::function<bool(const std::function<void(Store&)>& use)> with_store;
  Jobs* jobs = nullptr;           // borrowed
  ClaimMemory* claims = nullptr;  // borrowed
  // How the last deliveries of this process ended; null: nobody keeps them. Borrowed.
  const telemetry::RecentDeliveries* recent = nullptr;
  // Ages of the duplicates of a consumer; empty: nobody counts them.
  std::function<DuplicateAges(const std::string& consumer)> duplicate_ages;
  // Told what a replay of one letter came to; empty: nobody is.
  std::function<void(const std::string& consumer, ReplayReport::Result)> replayed;
  // Examines store and brokers; a JSON document.
  std::function<Result<std::string>(Store&)> doctor;
  // Takes up the config as its file has it now, or, with `dry_run`, says what that would change.
  std::function<Reloaded(bool dry_run)> reload;
  std::function<ReloadState()> reload_state;
  // Drains a consumer of this process, and begins it again. Errors: R343, R345, R358.
  std::function<Result<DrainState>(const std::string& consumer)> drain;
  std::function<Result<DrainState>(const std::string& consumer)> resume;
};

// The one who asks.
struct Caller {
  std::string name;  // of the token, or the user of a socket; empty: nobody needs one
  core::Role role = core::Role::kRead;
  std::span<const std::string> claims = {};  // consumers that it may claim from; borrowed
  bool by_socket = false;                    // without a token, as the config of the socket says
};

class Api {
 public:
  // Rate of a caller.
  static constexpr double kRequestsPerSecond = 50;
  static constexpr double kBurst = 100;
  // Its rate of calls about claims, which are work and not looks.
  static constexpr double kClaimCallsPerSecond = 5'000;
  static constexpr double kClaimBurst = 10'000;
  // How long an answer may take; `doctor` asks brokers too.
  static constexpr std::chrono::seconds kPatience{10};
  static constexpr std::chrono::seconds kDoctorPatience{30};

  static std::unique_ptr<Api> create(ApiSources sources);
  virtual ~Api() = default;

  // True of the paths that it answers.
  static bool owns(std::string_view path) noexcept { return path.starts_with("/api/"); }
  // One request at a time; without a caller there was no token, or a wrong one. Its tasks use the
  // sources, and end before this object.
  virtual HttpReply answer(const HttpRequest& request, const std::optional<Caller>& caller) = 0;
  // Counts a request for a page, which is made of the same sources: the answer to one too many of
  // the caller. Not while answer() runs.
  virtual std::optional<HttpResponse> refusal_of_rate(const Caller& caller) = 0;
};

}  // namespace semel::admin
