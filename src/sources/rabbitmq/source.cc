#include "sources/rabbitmq/source.h"

#include <sys/socket.h>

#include <utility>

namespace semel::rabbitmq {

RabbitmqSource::RabbitmqSource(RabbitmqOptions options, Environment& environment)
    : BrokerSource({.traits = kSourceTraits,
                    .name = "RabbitMQ",
                    .partition = options.spec.queue,
                    .follow = options.follow,
                    .ack_pace = core::AckPace(static_cast<std::size_t>(options.spec.prefetch)),
                    .untold = {ErrorKind::kUnavailable,
                               "R310",
                               "the last acknowledgements may not have reached the broker: what "
                               "was done comes again, and is a duplicate then",
                               {}}},
                   environment),
      options_(std::move(options)),
      spec_(options_.spec) {}

bool RabbitmqSource::hand_out(std::vector<Arrival>& into) {
  const Ledger::Taken taken = ledger_.take();
  if (taken.arrival == nullptr) return false;
  Arrival& arrival = into.emplace_back(*taken.arrival);
  arrival.partition = spec_.queue;
  arrival.position = positions_ + std::to_string(taken.tag);
  arrival.tag = {taken.tag, generation_};
  return true;
}

bool RabbitmqSource::settle_one(const Settlement& settlement) {
  if (settlement.tag.generation == generation_) {
    return ledger_.settle(settlement.tag.value, settlement.kind);
  }
  // On a new connection the message comes again and is settled there.
  in_vain_ = in_vain_ || !connected_;
  return false;
}

void RabbitmqSource::interrupt() noexcept {
  if (cutter_.valid()) ::shutdown(cutter_.get(), SHUT_RDWR);
}

bool RabbitmqSource::to_ask_now(TimePoint now) const {
  return end_wanted_ && !asked_at_ && now >= ask_again_ && !ledger_.has_waiting();
}

}  // namespace semel::rabbitmq
