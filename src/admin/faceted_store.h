// For tests: a store that differs from another one only by its facets, and records that differ by
// some of their calls.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <semel/admin/records.h>
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

class OtherRecords : public RecordInspector {
 public:
  explicit OtherRecords(RecordInspector& records) : records_(records) {}
  Result<StoreTime> read_clock() override { return records_.read_clock(); }
  Result<std::optional<ConsumerNumber>> consumer(const std::string& name) override {
    return records_.consumer(name);
  }
  Result<std::vector<RecordView>> list(std::optional<ConsumerNumber> consumer,
                                       std::optional<RecordState> state,
                                       std::size_t limit) override {
    return records_.list(consumer, state, limit);
  }
  Result<std::optional<RecordView>> show(const KeyId& id) override { return records_.show(id); }
  Result<std::optional<RecordView>> left_behind(const KeyId& id) override {
    return records_.left_behind(id);
  }
  Result<bool> forget(const KeyId& id) override { return records_.forget(id); }
  Result<bool> forget_as(const KeyId& id, RecordState state, std::uint64_t token) override {
    return records_.forget_as(id, state, token);
  }
  Result<bool> unlock(const KeyId& id) override { return records_.unlock(id); }
  Result<bool> unlock_as(const KeyId& id, RecordState state, std::uint64_t token) override {
    return records_.unlock_as(id, state, token);
  }
  Result<std::optional<Lease>> seize(const KeyId& id, std::chrono::milliseconds lease) override {
    return records_.seize(id, lease);
  }
  Result<std::optional<Lease>> seize_as(const KeyId& id, RecordState state, std::uint64_t token,
                                        std::chrono::milliseconds lease) override {
    return records_.seize_as(id, state, token, lease);
  }
  Result<std::vector<StoreFinding>> verify(bool full) override { return records_.verify(full); }
  Result<StoreStats> stats() override { return records_.stats(); }
  Result<StoreStats> backlog() override { return records_.backlog(); }

 private:
  RecordInspector& records_;
};

// A store with records of the kind `Records`.
template <class Records>
class RecordsStore final : public FacetedStore {
 public:
  explicit RecordsStore(Store& store) : FacetedStore(store), records_(*store.facets().records) {}
  StoreFacets facets() noexcept override {
    StoreFacets facets = FacetedStore::facets();
    facets.records = &records_;
    return facets;
  }

 private:
  Records records_;
};

}  // namespace semel::admin
