#include "sources/nats/source.h"

#include <utility>

#include "core/oldest_figure.h"
#include "system/utc_clock.h"

namespace semel::nats {

NatsSource::NatsSource(NatsOptions options, Environment& environment)
    : BrokerSource({.traits = kSourceTraits,
                    .name = "NATS",
                    .partition = options.spec.stream,
                    .follow = options.follow,
                    .ack_pace = core::AckPace(static_cast<std::size_t>(options.spec.prefetch)),
                    .untold = {ErrorKind::kUnavailable,
                               "R380",
                               "the last acknowledgements may not have reached the NATS server: "
                               "what was done comes again, and is a duplicate then",
                               {}}},
                   environment),
      options_(std::move(options)),
      spec_(options_.spec) {}

bool NatsSource::hand_out(std::vector<Arrival>& into) {
  const Ledger::Taken taken = ledger_.take();
  if (taken.arrival == nullptr) return false;
  Arrival& arrival = into.emplace_back(*taken.arrival);
  arrival.tag = {taken.tag, generation_};
  return true;
}

bool NatsSource::settle_one(const Settlement& settlement) {
  if (settlement.tag.generation == generation_) {
    return ledger_.settle(settlement.tag.value, settlement.kind);
  }
  // On a new connection the message comes again and is settled there.
  in_vain_ = in_vain_ || !connected_;
  return false;
}

std::vector<SourceFigure> NatsSource::figures() {
  const system::MutexLock lock(mutex_);
  if (closed_ || !connected_) return {};
  const auto open = static_cast<std::int64_t>(ledger_.open());
  std::vector<SourceFigure> made = {{"lag", {}, pending_ + open, {}}};
  core::add_oldest(made, ledger_.oldest_sent(), system::utc_now());
  if (redelivered_ > 0) made.push_back({"redelivered", {}, redelivered_, {}});
  return made;
}

void NatsSource::set_cuttable(const Client* client) {
  const system::MutexLock lock(cut_mutex_);
  cuttable_ = client;
}

void NatsSource::cut() noexcept {
  const system::MutexLock lock(cut_mutex_);
  if (cuttable_ != nullptr) cuttable_->cut();
}

}  // namespace semel::nats
