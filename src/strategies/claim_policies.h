// The ways in which a batch claims its messages in its transaction.
#pragma once

#include <span>
#include <vector>

#include "core/tracked_delivery.h"
#include "strategies/pipeline.h"

namespace semel::strategies {

// The claim is the record: inserted in the transaction that does the work. For dedup_table and
// inbox, and for the strategies that lock or compare a business row after their claim.
class ClaimFirst final : public ClaimPolicy {
 public:
  Result<void> enter(UnitOfWork& unit, std::size_t first, std::span<const Message* const> messages,
                     std::vector<Claim>& answers) override;
};

// The claims were committed before, with leases: each nonce is compared and set first, so that no
// other process can take over the messages of this transaction.
class ConfirmClaims final : public ClaimPolicy {
 public:
  // `called`: the work has called outside, so messages that are given back may have had their
  // effect.
  ConfirmClaims(const Context& context, std::span<const Acquired> claims, bool called = false);

  Result<void> enter(UnitOfWork& unit, std::size_t first, std::span<const Message* const> messages,
                     std::vector<Claim>& answers) override;
  std::span<const Lease> leases() const noexcept override { return leases_; }
  void given_back(std::size_t index) noexcept override;
  std::optional<Claim> look_again(const Message& message) noexcept override;

 private:
  const Context& context_;
  std::span<const Acquired> claims_;
  std::vector<Lease> leases_;
  const bool called_;
};

// No record: every message runs.
class NoRecords final : public ClaimPolicy {
 public:
  explicit NoRecords(std::span<core::TrackedDelivery* const> batch) : batch_(batch) {}

  Result<void> enter(UnitOfWork& unit, std::size_t first, std::span<const Message* const> messages,
                     std::vector<Claim>& answers) override;
  bool has_records() const noexcept override { return false; }

 private:
  std::span<core::TrackedDelivery* const> batch_;
};

}  // namespace semel::strategies
