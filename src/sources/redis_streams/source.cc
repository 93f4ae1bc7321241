#include "sources/redis_streams/source.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace semel::redis_streams {

namespace {

// All tags have one generation: an entry is the same on a new connection.
constexpr std::uint64_t kGeneration = 1;

redis::Target with_stop(redis::Target target, int stop_fd) {
  target.stop_fd = stop_fd;
  return target;
}

}  // namespace

RedisStreamsSource::RedisStreamsSource(RedisStreamsOptions options, redis::Target target,
                                       std::string member, Environment& environment)
    : BrokerSource({.traits = kSourceTraits,
                    .name = "Redis Streams",
                    .partition = options.spec.stream,
                    .follow = options.follow,
                    .ack_pace = core::AckPace(static_cast<std::size_t>(options.spec.prefetch)),
                    .untold = {ErrorKind::kUnavailable,
                               "R250",
                               "the last acknowledgements may not have reached the Redis server: "
                               "what was done comes again, and is a duplicate then",
                               {}}},
                   environment),
      options_(std::move(options)),
      spec_(options_.spec),
      member_(std::move(member)),
      database_(target.database),
      place_(with_stop(std::move(target), abort_.get()), options_.spec.stream,
             *environment.random) {}

bool RedisStreamsSource::hand_out(std::vector<Arrival>& into) {
  const Ledger::Taken taken = ledger_.take();
  if (taken.arrival == nullptr) return false;
  Arrival& arrival = into.emplace_back(*taken.arrival);
  arrival.partition = spec_.stream;
  arrival.position = fmt::format("{}-{}", spec_.stream, taken.id.text());
  arrival.entry = {group_, taken.id.milliseconds, taken.id.sequence};
  arrival.tag = {taken.number, kGeneration};
  return true;
}

bool RedisStreamsSource::settle_one(const Settlement& settlement) {
  return settlement.tag.generation == kGeneration &&
         ledger_.settle(settlement.tag.value, settlement.kind);
}

std::vector<SourceFigure> RedisStreamsSource::figures() {
  const system::MutexLock lock(mutex_);
  if (closed_ || !state_) return {};
  std::vector<SourceFigure> made = {{"lag", {}, state_->unread, {}},
                                    {"pending", {}, state_->pending, {}}};
  if (state_->missed > 0) made.push_back({"missed", {}, state_->missed, {}});
  return made;
}

std::size_t RedisStreamsSource::remaining() const {
  const auto most = static_cast<std::size_t>(spec_.prefetch);
  return most - std::min(most, ledger_.pending());
}

}  // namespace semel::redis_streams
