#include <semel/memory.h>
#include <semel/spi/record_machine.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "stores/memory/state.h"
#include "system/mutex.h"

namespace semel {
namespace memory {
namespace {

using std::chrono::milliseconds;

class MemoryStore final : public Store {
 public:
  MemoryStore(Environment& environment, std::size_t max_records)
      : state_(environment, max_records),
        held_(make_held(state_)),
        dead_letters_(make_dead_letters(state_)),
        inspector_(make_inspector(state_)),
        positions_(make_positions(state_)),
        gates_(make_gates(state_)),
        steps_(make_steps(state_)),
        audit_(make_audit(state_)) {}

  const StoreTraits& traits() const noexcept override { return kMemoryTraits; }
  StoreFacets facets() noexcept override {
    StoreFacets facets;
    facets.held = held_.get();
    facets.dead_letters = dead_letters_.get();
    facets.records = inspector_.get();
    facets.positions = positions_.get();
    facets.gates = gates_.get();
    facets.steps = steps_.get();
    facets.audit = audit_.get();
    return facets;
  }

  Result<ConsumerNumber> attach(const ConsumerSpec& consumer) override;
  Result<std::vector<Claim>> claim(std::span<const Message* const> messages,
                                   const ClaimOptions& options) override;
  Result<std::vector<Applied>> renew(std::span<const Lease> leases, milliseconds lease) override;
  Result<std::vector<Applied>> finish(std::span<const Finish> batch) override;
  Result<PurgeReport> purge(milliseconds budget) override;

 private:
  bool room_for(std::span<const Message* const> messages) SEMEL_REQUIRES(state_.mutex);
  Claim claim_one(const Message& message, const ClaimOptions& options, StoreTime now)
      SEMEL_REQUIRES(state_.mutex);

  State state_;
  std::unique_ptr<HeldMessages> held_;
  std::unique_ptr<DeadLetters> dead_letters_;
  std::unique_ptr<RecordInspector> inspector_;
  std::unique_ptr<Positions> positions_;
  std::unique_ptr<Gates> gates_;
  std::unique_ptr<StepStore> steps_;
  std::unique_ptr<AuditLog> audit_;
};

Result<ConsumerNumber> MemoryStore::attach(const ConsumerSpec& consumer) {
  const system::MutexLock lock(state_.mutex);
  const auto found = state_.numbers.find(consumer.name);
  if (found == state_.numbers.end()) {
    const ConsumerNumber number{static_cast<std::uint32_t>(state_.numbers.size() + 1)};
    state_.numbers.emplace(consumer.name, number);
    state_.consumers[number] = {consumer.name, consumer.recipe_hash, consumer.ttl};
    return number;
  }
  Consumer& known = state_.consumers.at(found->second);
  if (known.recipe_hash != consumer.recipe_hash && !consumer.accept_recipe) {
    return failure({ErrorKind::kRejected, "R220",
                    "the key recipe of consumer \"" + consumer.name +
                        "\" changed: every key would be new, and what was handled before would be "
                        "handled again",
                    "accept: [key_recipe] on the consumer, or the recipe as it was"});
  }
  known.recipe_hash = consumer.recipe_hash;
  known.ttl = consumer.ttl;
  return found->second;
}

// Only new keys need room; finished records are forgotten for it.
bool MemoryStore::room_for(std::span<const Message* const> messages) {
  if (state_.live.size() + messages.size() <= state_.max_records) return true;
  std::size_t fresh = 0;
  for (const Message* message : messages) {
    const KeyId& id = message->key().id;
    if (state_.live.find(id) == nullptr && !state_.finished.contains(id)) ++fresh;
  }
  return fresh == 0 || state_.live.size() + fresh <= state_.max_records;
}

Claim MemoryStore::claim_one(const Message& message, const ClaimOptions& options, StoreTime now) {
  const KeyId& id = message.key().id;
  spi::ClaimRequest request;
  request.key = id;
  request.fingerprint = message.fingerprint();
  request.lease = options.lease;

  LiveRecord* live = state_.live.find(id);
  if (live == nullptr) {
    if (auto finished = state_.finished.find(id, options.want_result)) {
      return spi::decide_claim(finished, request, now);
    }
    while (state_.live.size() + state_.finished.size() >= state_.max_records &&
           state_.finished.forget_oldest()) {
      ++state_.forgotten;
    }
    live = &state_.live.insert(id, message.key().text);
  } else if (live->record) {
    live->record->held = live->held.has_value();
  }
  request.token = Token{(state_.epoch << 32U) + ++state_.counter};
  request.nonce = spi::draw_nonce(*state_.environment.random);
  if (live->record) {
    if (auto before = spi::acquired_before(*live->record, request, now)) return *before;
  }
  return spi::decide_claim(live->record, request, now);
}

Result<std::vector<Claim>> MemoryStore::claim(std::span<const Message* const> messages,
                                              const ClaimOptions& options) {
  const system::MutexLock lock(state_.mutex);
  if (!room_for(messages)) {
    return failure({ErrorKind::kLimit, "R240",
                    "the memory store is full: every record it may keep is unfinished",
                    "a larger store.memory.max_records, or the SQLite store"});
  }
  for (const Message* message : messages) state_.finished.prefetch(message->key().id);
  const StoreTime now = state_.now();
  std::vector<Claim> claims;
  claims.reserve(messages.size());
  for (const Message* message : messages) claims.push_back(claim_one(*message, options, now));
  return claims;
}

Result<std::vector<Applied>> MemoryStore::renew(std::span<const Lease> leases, milliseconds lease) {
  const system::MutexLock lock(state_.mutex);
  const StoreTime now = state_.now();
  std::vector<Applied> applied;
  applied.reserve(leases.size());
  for (const Lease& held : leases) {
    LiveRecord* live = state_.live.find(held.key);
    const bool renewed = live != nullptr && live->record.has_value() &&
                         spi::decide_renew(*live->record, held.nonce, lease, now);
    applied.push_back(renewed ? Applied::kYes : Applied::kLeaseLost);
  }
  return applied;
}

Result<std::vector<Applied>> MemoryStore::finish(std::span<const Finish> batch) {
  const system::MutexLock lock(state_.mutex);
  const StoreTime now = state_.now();
  std::vector<Applied> applied;
  applied.reserve(batch.size());
  for (const Finish& finish : batch) {
    applied.push_back(apply_finish(state_, finish, now));
    if (applied.back() != Applied::kYes) continue;
    for (const Outgoing& one : finish.outgoing) {
      state_.held.add(row_of(one.to, one.message, now));
    }
  }
  return applied;
}

Result<PurgeReport> MemoryStore::purge(milliseconds budget) {
  constexpr std::size_t kBetweenLooks = 256;
  const system::MutexLock lock(state_.mutex);
  const StoreTime now = state_.now();
  const auto end = state_.environment.clock->now() + budget;
  PurgeReport report;
  report.records = std::exchange(state_.forgotten, 0);
  std::erase_if(state_.steps, [&](const auto& journal) SEMEL_REQUIRES(state_.mutex) {
    return state_.live.find(journal.first) == nullptr && !state_.finished.contains(journal.first);
  });
  std::size_t looked = 0;
  for (const auto& [number, consumer] : state_.consumers) {
    if (!consumer.ttl) continue;
    std::optional<KeyId> kept;
    while (const auto* past = state_.finished.expired(number, kept, *consumer.ttl, now)) {
      const KeyId id = past->id;
      // A replay of its letter needs the journal.
      if (past->dead && state_.steps.contains(id) &&
          state_.dead_letters.find(id, past->fingerprint) != nullptr) {
        kept = id;
      } else {
        state_.finished.erase(id);
        state_.steps.erase(id);
        ++report.records;
      }
      if (++looked % kBetweenLooks == 0 && state_.environment.clock->now() >= end) {
        report.more = true;
        return report;
      }
    }
  }
  return report;
}

}  // namespace
}  // namespace memory

std::unique_ptr<Store> make_memory_store(MemoryOptions options) {
  Environment& environment =
      options.environment != nullptr ? *options.environment : system_environment();
  return std::make_unique<memory::MemoryStore>(environment, options.max_records);
}

}  // namespace semel
