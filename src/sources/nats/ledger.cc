#include "sources/nats/ledger.h"

#include <utility>

#include "core/oldest_figure.h"

namespace semel::nats {

void Ledger::arrived(std::string reply, std::unique_ptr<Arrival> arrival) {
  deliveries_.arrived(first_ + replies_.size(), std::move(arrival));
  replies_.push_back(std::move(reply));
}

Ledger::Taken Ledger::take() {
  const auto taken = deliveries_.take();
  return taken.value == nullptr ? Taken{} : Taken{taken.position, taken.value->get()};
}

bool Ledger::settle(std::uint64_t tag, Settlement::Kind kind) {
  if (!deliveries_.settle(tag, kind)) return false;
  if (kind != Settlement::Kind::kAck && kind != Settlement::Kind::kGone) return true;
  acks_.push_back(std::exchange(replies_[tag - first_], {}));
  while (!replies_.empty() && replies_.front().empty()) {
    replies_.pop_front();
    ++first_;
  }
  return true;
}

std::vector<std::string> Ledger::take_acks() { return std::exchange(acks_, {}); }

std::vector<std::string> Ledger::open_replies() const {
  std::vector<std::string> open;
  open.reserve(deliveries_.open());
  for (const std::string& reply : replies_) {
    if (!reply.empty()) open.push_back(reply);
  }
  return open;
}

std::optional<std::chrono::system_clock::time_point> Ledger::oldest_sent() const {
  return core::earliest_sent(deliveries_);
}

}  // namespace semel::nats
