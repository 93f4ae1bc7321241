// A store of a test that differs from another one by its facets alone.
#pragma once

#include <chrono>
#include <span>
#include <vector>

#include <semel/spi/store.h>

namespace semel::admin {

// Derived classes change what facets() returns.
class FacetedStore : public Store {
 public:
  explicit FacetedStore(Store& store) : store_(store) {}
  const StoreTraits& traits() const noexcept override { return store_.traits(); }
  StoreFacets facets() noexcept override { return store_.facets(); }
  Result<ConsumerNumber> attach(const ConsumerSpec& consumer) override {
    return store_.attach(consumer);
  }
  Result<std::vector<Claim>> claim(std::span<const Message* const> messages,
                                   const ClaimOptions& options) override {
    return store_.claim(messages, options);
  }
  Result<std::vector<Applied>> renew(std::span<const Lease> leases,
                                     std::chrono::milliseconds lease) override {
    return store_.renew(leases, lease);
  }
  Result<std::vector<Applied>> finish(std::span<const Finish> batch) override {
    return store_.finish(batch);
  }
  Result<PurgeReport> purge(std::chrono::milliseconds budget) override {
    return store_.purge(budget);
  }

 private:
  Store& store_;
};

}  // namespace semel::admin
