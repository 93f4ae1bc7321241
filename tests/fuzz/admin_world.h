// AdminWorld: the routes of an admin listener over a store in memory, without a listener.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include <semel/spi/store.h>

#include "admin/admin_routes.h"
#include "admin/claim_memory.h"
#include "admin/jobs.h"
#include "telemetry/recent_deliveries.h"

namespace semel::fuzz {

// The consumers of every world; parsed once.
const config::Config& world_config();
std::string secret_of(core::Role role);

class AdminWorld {
 public:
  // With a token for each role, and records in every state. `tokens`: none for a listener that
  // needs none.
  explicit AdminWorld(bool tokens);
  AdminWorld(const AdminWorld&) = delete;
  AdminWorld& operator=(const AdminWorld&) = delete;

  // With the task that it may be, run to its end.
  http::HttpResponse answer(const http::HttpRequest& request);
  // The state that a write would change, as one text: records, dead letters, gates, jobs, the audit
  // log.
  std::string state() const;

 private:
  admin::AdminSources sources();
  void fill();

  const std::unique_ptr<Store> store_;
  ConsumerNumber payments_{};
  telemetry::RecentDeliveries recent_;
  admin::Jobs jobs_;
  admin::ClaimMemory claims_;
  std::unique_ptr<admin::AdminRoutes> routes_;
};

}  // namespace semel::fuzz
