#include "stores/sql/claims.h"

#include <algorithm>
#include <cstring>
#include <numeric>

namespace semel::sql {

std::vector<std::uint32_t> in_order(std::span<const Message* const> messages) {
  std::vector<std::uint32_t> order(messages.size());
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::sort(order, [&](std::uint32_t a, std::uint32_t b) {
    return messages[a]->key().id < messages[b]->key().id;
  });
  return order;
}

std::vector<Nonce> draw(Random& random, std::size_t count) {
  std::vector<Nonce> nonces;
  nonces.reserve(count);
  for (std::size_t i = 0; i < count; ++i) nonces.push_back(spi::draw_nonce(random));
  return nonces;
}

std::vector<Applied> applied(std::span<const Lease> leases, std::span<const Holding> held) {
  std::vector<Applied> answers;
  answers.reserve(leases.size());
  for (const Lease& lease : leases) {
    const bool yes = std::ranges::binary_search(held, Holding{lease.key, lease.nonce});
    answers.push_back(yes ? Applied::kYes : Applied::kLeaseLost);
  }
  return answers;
}

void ClaimedKeys::clear() noexcept {
  all_.clear();
  next_ = 0;
}

Claimed* ClaimedKeys::find(const KeyId& id) noexcept {
  for (std::size_t i = 0; i < all_.size(); ++i) {
    const std::size_t at = (next_ + i) % all_.size();
    if (all_[at].id != id) continue;
    next_ = at + 1;
    return &all_[at];
  }
  return nullptr;
}

bool ClaimedKeys::unfinished() const noexcept {
  return std::ranges::any_of(all_, [](const Claimed& one) { return !one.finished; });
}

}  // namespace semel::sql
