#include "strategies/claim_policies.h"

#include <utility>
#include <variant>

#include "strategies/resolver.h"

namespace semel::strategies {

namespace {

Error wrong_count() {
  return {ErrorKind::kRejected, {}, "the store did not answer for each message", {}};
}

}  // namespace

Result<void> ClaimFirst::enter(UnitOfWork& unit, std::size_t,
                               std::span<const Message* const> messages,
                               std::vector<Claim>& answers) {
  auto claims = unit.claim(messages);
  if (!claims) return failure(std::move(claims.error()));
  if (claims->size() != messages.size()) return failure(wrong_count());
  answers = *std::move(claims);
  return {};
}

ConfirmClaims::ConfirmClaims(const Context& context, std::span<const Acquired> claims, bool called)
    : context_(context), claims_(claims), called_(called) {
  leases_.reserve(claims.size());
  for (const Acquired& claim : claims) leases_.push_back(claim.lease);
}

Result<void> ConfirmClaims::enter(UnitOfWork& unit, std::size_t first,
                                  std::span<const Message* const> messages,
                                  std::vector<Claim>& answers) {
  auto confirmed = unit.confirm(std::span(leases_).subspan(first, messages.size()));
  if (!confirmed) return failure(std::move(confirmed.error()));
  if (confirmed->size() != messages.size()) return failure(wrong_count());
  for (std::size_t i = 0; i < messages.size(); ++i) {
    if ((*confirmed)[i] == Applied::kYes) {
      answers.emplace_back(claims_[first + i]);
    } else {
      answers.emplace_back(Busy{kAskHolderAgain});
    }
  }
  return {};
}

void ConfirmClaims::given_back(std::size_t index) noexcept {
  // If this fails too, the lease ends by itself.
  Finish finish = not_started(leases_[index]);
  finish.unknown = called_;
  (void)context_.store->finish({&finish, 1});
}

std::optional<Claim> ConfirmClaims::look_again(const Message& message) noexcept {
  const Message* const one = &message;
  auto claims = context_.store->claim({&one, 1}, context_.claim);
  if (!claims || claims->size() != 1) return std::nullopt;
  if (const auto* acquired = std::get_if<Acquired>(&claims->front())) {
    const Finish finish = not_started(acquired->lease);
    // If this fails, the lease ends by itself.
    (void)context_.store->finish({&finish, 1});
  }
  return std::move(claims->front());
}

Result<void> NoRecords::enter(UnitOfWork& unit, std::size_t first,
                              std::span<const Message* const> messages,
                              std::vector<Claim>& answers) {
  auto confirmed = unit.confirm({});
  if (!confirmed) return failure(std::move(confirmed.error()));
  for (std::size_t i = 0; i < messages.size(); ++i) {
    const ClaimInfo claim_info = ClaimInfo::without_record(batch_[first + i]->arrival);
    Acquired acquired;
    acquired.attempt = claim_info.attempt;
    acquired.since_first = claim_info.since_first;
    answers.emplace_back(acquired);
  }
  return {};
}

}  // namespace semel::strategies
