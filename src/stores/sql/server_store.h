// ServerStore: an opened store on a server. Its parameter `Server` has the parts that differ:
//
//   context   its StoreContext: dialect, environment, generations, instance lock, pool, shared
//   facts     its sql::Facts
//   claim     Store::claim of messages that are not empty, on a pooled session
//   renew     Store::renew of leases that are not empty: the Holdings that it renewed, in order
//   records   its sql::ManyRecords on a session
//   Purge     Store::purge, made from the context
//
// make_units(context) makes the transactions of the store. All of them throw Failure.
#pragma once

#include <chrono>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include <semel/spi/failpoints.h>
#include <semel/spi/store.h>
#include <semel/spi/unit_of_work.h>

#include "stores/sql/attach.h"
#include "stores/sql/borrowed_store.h"
#include "stores/sql/claims.h"
#include "stores/sql/ports.h"
#include "system/mutex.h"

namespace semel::sql {

template <class Server>
class ServerStore final : public Store {
 public:
  // `arguments`: those of the Server.
  template <class... Arguments>
  explicit ServerStore(const StoreTraits& traits, Arguments&&... arguments)
      : traits_(traits),
        server_(std::forward<Arguments>(arguments)...),
        ports_(server_.context.shared, server_.context.dialect, server_.facts,
               server_.context.instance_lock, *server_.context.environment.random),
        units_(make_units(server_.context)),
        purge_(server_.context) {}

  const StoreTraits& traits() const noexcept override { return traits_; }
  StoreFacets facets() noexcept override { return ports_.facets(*units_); }

  Result<ConsumerNumber> attach(const ConsumerSpec& spec) override {
    return contained([&] { return attach_to(server_.context, spec); });
  }

  Result<std::vector<Claim>> claim(std::span<const Message* const> messages,
                                   const ClaimOptions& options) override {
    return contained([&] {
      if (messages.empty()) return std::vector<Claim>();
      Environment& environment = server_.context.environment;
      const auto nonces = draw(*environment.random, messages.size());
      failpoint::hit(environment, failpoint::kBegun);
      auto claims = said_again_in_doubt([&] {
        PooledSession lent(server_.context.pool);
        const std::int64_t instance = server_.context.instance_lock.number_for(*lent);
        return server_.claim(*lent, messages, nonces, options, instance);
      });
      failpoint::hit(environment, failpoint::kClaimed);
      return claims;
    });
  }

  Result<std::vector<Applied>> renew(std::span<const Lease> leases,
                                     std::chrono::milliseconds lease) override {
    return contained([&] {
      if (leases.empty()) return std::vector<Applied>();
      return applied(leases, server_.renew(leases, lease));
    });
  }

  Result<std::vector<Applied>> finish(std::span<const Finish> batch) override {
    return contained([&] {
      const auto records = [this](Session& session) { return server_.records(session); };
      return finish_in_one(server_.context.shared, server_.context.environment, records, batch);
    });
  }

  Result<PurgeReport> purge(std::chrono::milliseconds budget) override {
    return contained([&] {
      const system::MutexLock lock(purging_);
      return purge_.run(budget);
    });
  }

 private:
  const StoreTraits traits_;
  Server server_;
  const Ports ports_;
  const std::unique_ptr<TransactionalStore> units_;
  system::Mutex purging_;
  typename Server::Purge purge_ SEMEL_GUARDED_BY(purging_);
};

// A store over a connection to a server that the caller lends.
template <class ServerCore>
class BorrowedServerStore : public BorrowedStore {
 public:
  // `database`, `instead`: those of BorrowedStore. `arguments`: those of the ServerCore.
  template <class... Arguments>
  BorrowedServerStore(const StoreTraits& database, const char* instead, Arguments&&... arguments)
      : BorrowedStore(database, instead),
        context_(std::forward<Arguments>(arguments)...),
        units_(make_units(context_)) {}

  Result<ConsumerNumber> attach(const ConsumerSpec& spec) override {
    return contained([&] { return attach_to(context_, spec); });
  }
  Result<std::unique_ptr<UnitOfWork>> begin(const UnitOptions& options) override {
    if (auto ready = may_begin(options); !ready) return failure(std::move(ready.error()));
    return units_->begin(options);
  }

 protected:
  // Whether a unit may begin on the connection in its present state.
  virtual Result<void> may_begin(const UnitOptions& options) = 0;
  ServerCore& context() noexcept { return context_; }

 private:
  ServerCore context_;
  const std::unique_ptr<TransactionalStore> units_;
};

}  // namespace semel::sql
