// AdminServer: metrics, health and backlog of a run over HTTP. docs/monitoring.md describes the
// paths.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <semel/metrics.h>
#include <semel/result.h>

#include "admin/overview.h"
#include "admin/readiness.h"
#include "base/listen_address.h"

namespace semel::admin {

struct AdminOptions {
  ListenAddress listen;
  // Bearer tokens. Where there is one, /metrics and the details of the health endpoints need it.
  // Where there is none, requests must name this machine as their host.
  std::vector<std::string> tokens;
};

// Messages that wait for a consumer, at its source and in the store.
struct Backlog {
  bool is_consumer = false;              // the run has one of that name
  std::optional<std::int64_t> messages;  // nullopt: not known now
};

// Called on the server's thread: must not wait for the store or a broker for longer than a moment.
struct AdminSources {
  std::function<std::string(MetricsFormat)> metrics;
  std::function<Readiness()> readiness;
  std::function<Overview()> overview;
  std::function<Backlog(std::string_view consumer)> backlog;
};

class AdminServer {
 public:
  // Listens at once. Errors: R340.
  static Result<std::unique_ptr<AdminServer>> open(AdminOptions options, AdminSources sources);
  // Nothing is called any more after it.
  virtual ~AdminServer() = default;

  virtual std::uint16_t port() const noexcept = 0;
};

}  // namespace semel::admin
