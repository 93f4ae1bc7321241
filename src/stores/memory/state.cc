#include "stores/memory/state.h"

#include "system/utc_clock.h"

namespace semel::memory {
namespace {

using std::chrono::milliseconds;

}  // namespace

// The epoch is the wall clock's second: a later process has a later one, so that tokens keep
// growing.
State::State(Environment& env, std::size_t max)
    : environment(env),
      max_records(max),
      started(env.clock->elapsed()),
      started_at(system::utc_now()),
      epoch(static_cast<std::uint64_t>(
          std::chrono::duration_cast<std::chrono::seconds>(started_at.time_since_epoch()).count())),
      live(env.random->next()),
      finished(env.random->next()) {}

StoreTime State::now() const noexcept {
  return started_at +
         std::chrono::duration_cast<milliseconds>(environment.clock->elapsed() - started);
}

const std::string& State::name_of(ConsumerNumber number) const {
  static const std::string kNobody;
  const auto found = consumers.find(number);
  return found == consumers.end() ? kNobody : found->second.name;
}

}  // namespace semel::memory
