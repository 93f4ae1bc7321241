// A unit of work on a server: the order of its calls, and its end.
#pragma once

#include <memory>

#include <semel/environment.h>
#include <semel/spi/unit_of_work.h>

#include "stores/sql/batch_finish.h"
#include "stores/sql/handler_wire.h"
#include "stores/sql/store_context.h"

namespace semel::sql {

// The parts of a unit that differ between servers, on one session. Throws Failure.
class UnitWork {
 public:
  virtual ~UnitWork() = default;
  virtual Session& session() = 0;
  virtual HandlerWire& wire() = 0;
  virtual ManyRecords& records() = 0;
  // The keys that `claim` has claimed.
  virtual ClaimedKeys& claimed() = 0;
  // Called after each call that leaves the transaction open.
  virtual void hand_back() {}
  // Each begins the transaction. `messages` are not empty.
  virtual std::vector<Claim> claim(std::span<const Message* const> messages) = 0;
  virtual std::vector<Applied> confirm(std::span<const Lease> leases) = 0;
};

// `core` and `environment` outlive it.
std::unique_ptr<UnitOfWork> make_unit(std::unique_ptr<UnitWork> work, const StoreContext& context,
                                      const UnitOptions& options, Environment& environment);

// The part of a read-only unit that differs between servers. Throws Failure.
class LookWork {
 public:
  virtual ~LookWork() = default;
  // Runs `statement` in a read-only transaction of its own. nullopt where it would write.
  virtual std::optional<Rows> look(const RecordedStatement& statement) = 0;
};
std::unique_ptr<UnitOfWork> make_look_unit(std::unique_ptr<LookWork> work);

// The transactions of a store, made of the UnitWork and the LookWork of its server, which take the
// store's context as their first argument.
template <class ServerCore, class ServerUnitWork, class ServerLookWork>
class Units final : public TransactionalStore {
 public:
  explicit Units(ServerCore& context) : context_(context) {}

  Result<std::unique_ptr<UnitOfWork>> begin(const UnitOptions& options) override {
    return contained([&]() -> std::unique_ptr<UnitOfWork> {
      if (options.only_looks) return make_look_unit(std::make_unique<ServerLookWork>(context_));
      return make_unit(std::make_unique<ServerUnitWork>(context_, options), context_.shared,
                       options, context_.environment);
    });
  }

 private:
  ServerCore& context_;
};

}  // namespace semel::sql
