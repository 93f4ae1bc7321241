// AuditLog over the state.
#include <algorithm>

#include "stores/memory/state.h"
#include "system/mutex.h"

namespace semel::memory {
namespace {

class MemoryAudit final : public AuditLog {
 public:
  explicit MemoryAudit(State& state) : state_(state) {}

  Result<std::int64_t> append(const Nonce& request, const AuditEntry& entry) override {
    const system::MutexLock lock(state_.mutex);
    const auto next = static_cast<std::int64_t>(state_.audit.size()) + 1;
    const auto [known, fresh] = state_.audit_requests.emplace(request, next);
    if (!fresh) return known->second;
    AuditEntry& added = state_.audit.emplace_back(entry);
    added.id = next;
    added.at = state_.now();
    added.outcome.reset();
    return next;
  }

  Result<void> end(std::int64_t id, std::string_view outcome) override {
    const system::MutexLock lock(state_.mutex);
    if (id < 1 || id > static_cast<std::int64_t>(state_.audit.size())) return {};
    AuditEntry& entry = state_.audit[static_cast<std::size_t>(id - 1)];
    if (!entry.outcome) entry.outcome = std::string(outcome);
    return {};
  }

  Result<std::vector<AuditEntry>> list(std::optional<std::int64_t> before,
                                       std::size_t limit) override {
    const system::MutexLock lock(state_.mutex);
    std::vector<AuditEntry> entries;
    auto left = static_cast<std::int64_t>(state_.audit.size());
    if (before) left = std::min(left, *before - 1);
    for (; left > 0 && entries.size() < limit; --left) {
      entries.push_back(state_.audit[static_cast<std::size_t>(left - 1)]);
    }
    return entries;
  }

 private:
  State& state_;
};

}  // namespace

std::unique_ptr<AuditLog> make_audit(State& state) { return std::make_unique<MemoryAudit>(state); }

}  // namespace semel::memory
