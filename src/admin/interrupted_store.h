// For tests: a store in which something happens while the audit entry of an act is written.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <semel/admin/audit.h>

#include "admin/faceted_store.h"

namespace semel::admin {

class InterruptedAudit final : public AuditLog {
 public:
  explicit InterruptedAudit(AuditLog& log) : log_(log) {}
  Result<std::int64_t> append(const Nonce& request, const AuditEntry& entry) override {
    if (meanwhile) std::exchange(meanwhile, nullptr)();
    return log_.append(request, entry);
  }
  Result<void> end(std::int64_t id, std::string_view outcome) override {
    return log_.end(id, outcome);
  }
  Result<std::vector<AuditEntry>> list(std::optional<std::int64_t> before,
                                       std::size_t limit) override {
    return log_.list(before, limit);
  }

  std::function<void()> meanwhile;  // called once, before the next entry is written

 private:
  AuditLog& log_;
};

class InterruptedStore final : public FacetedStore {
 public:
  explicit InterruptedStore(Store& store) : FacetedStore(store), audit(*store.facets().audit) {}
  StoreFacets facets() noexcept override {
    StoreFacets facets = FacetedStore::facets();
    facets.audit = &audit;
    return facets;
  }

  InterruptedAudit audit;
};

}  // namespace semel::admin
