// BorrowedStore: a store over a connection that the caller lends, inside the caller's own
// transaction. Derived classes do what differs between databases.
#pragma once

#include <semel/spi/store.h>
#include <semel/spi/unit_of_work.h>

#include "stores/sql/failure.h"

namespace semel::sql {

class BorrowedStore : public Store, public TransactionalStore {
 public:
  // `database`: the traits of its kind. `instead`: how a store with all facets is opened.
  BorrowedStore(const StoreTraits& database, const char* instead)
      : traits_(database), instead_(instead) {
    traits_.borrowed = true;
  }

  const StoreTraits& traits() const noexcept override { return traits_; }
  StoreFacets facets() noexcept override {
    StoreFacets facets;
    facets.transactional = this;
    return facets;
  }
  Result<std::vector<Claim>> claim(std::span<const Message* const>, const ClaimOptions&) override {
    return failure(refusal());
  }
  Result<std::vector<Applied>> renew(std::span<const Lease>, std::chrono::milliseconds) override {
    return failure(refusal());
  }
  Result<std::vector<Applied>> finish(std::span<const Finish>) override {
    return failure(refusal());
  }
  Result<PurgeReport> purge(std::chrono::milliseconds) override { return failure(refusal()); }

 protected:
  // The error for every call that needs a transaction of its own.
  Error refusal() const {
    return {ErrorKind::kRejected, "R208",
            "a borrowed connection guards work inside the caller's transaction only",
            std::string(instead_) + " for all else"};
  }

 private:
  StoreTraits traits_;
  const char* const instead_;
};

}  // namespace semel::sql
