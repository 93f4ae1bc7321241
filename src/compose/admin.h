// Admin: the admin listener of a run, and the observers that it answers from.
#pragma once

#include <cstdint>
#include <memory>

#include <semel/result.h>

#include "admin/readiness.h"
#include "config/config.h"
#include "telemetry/health_observer.h"

namespace semel::compose {

class Reloader;
class Service;
struct ServiceOptions;

// Thread-safe, except Serving: one at a time.
class Admin {
 public:
  // Listens where the config says so, before there is a service. Without a listener, and in a dry
  // run, whose deliveries do not end, it only observes. Errors: R340.
  static Result<std::unique_ptr<Admin>> open(const config::Config& config, bool dry_run);
  virtual ~Admin() = default;

  // Adds its observers, and the measuring of the run; they live as long as this. The tracing of the
  // run must be added before, and outlive this.
  virtual void watch(ServiceOptions& options) = 0;
  virtual const telemetry::HealthObserver& health() const noexcept = 0;

  // The run has taken up this config: the API uses its consumers and tokens from now on.
  virtual void take(std::shared_ptr<const config::Config> config) = 0;

  // Borrows a service for its lifetime, and a function that reloads it; null: none.
  class Serving {
   public:
    Serving(Admin& admin, Service& service, Reloader* reloader = nullptr) : admin_(admin) {
      admin_.serve(service, reloader);
    }
    ~Serving() { admin_.leave(); }
    Serving(const Serving&) = delete;
    Serving& operator=(const Serving&) = delete;

   private:
    Admin& admin_;
  };

  // The port that it listens on; 0: none.
  virtual std::uint16_t port() const noexcept = 0;

 private:
  virtual void serve(Service& service, Reloader* reloader) = 0;
  // Does not use the service any more afterwards.
  virtual void leave() = 0;
};

}  // namespace semel::compose
