#include "stores/redis/store.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <utility>

#include <semel/spi/failpoints.h>
#include <semel/spi/record_machine.h>

#include "base/digest.h"
#include "core/key_encoding.h"
#include "stores/redis/audit.h"
#include "stores/redis/byte_reader.h"
#include "stores/redis/claim_answer.h"
#include "stores/redis/cluster_finish.h"
#include "stores/redis/completions.h"
#include "stores/redis/dead_letters.h"
#include "stores/redis/facts.h"
#include "stores/redis/finisher.h"
#include "stores/redis/gates.h"
#include "stores/redis/held.h"
#include "stores/redis/held_rows.h"
#include "stores/redis/inspector.h"
#include "stores/redis/live_checks.h"
#include "stores/redis/parts.h"
#include "stores/redis/positions.h"
#include "stores/redis/run_markers.h"
#include "stores/redis/settled_entries.h"
#include "stores/redis/steps.h"
#include "stores/redis/store_context.h"
#include "system/mutex.h"

namespace semel::redis {
namespace {

using std::chrono::milliseconds;

// A healthy replica has a write within a millisecond or two.
constexpr milliseconds kReplicaPatience{2'000};

// A consumer that only older versions of Semel have attached. Long: a record that is forgotten
// too early lets its message be handled twice.
constexpr milliseconds kUnknownTtl = std::chrono::hours(24 * 365);

// Empty where there is none.
std::string ttl_text(std::optional<milliseconds> ttl) {
  return ttl ? std::to_string(std::max<std::int64_t>(ttl->count(), 1)) : std::string();
}

BytesView nonce_bytes(const Nonce& nonce) {
  return {reinterpret_cast<const char*>(nonce.bytes.data()), nonce.bytes.size()};
}

// Always the same for a name: a server that has forgotten everything must not give one consumer's
// number to another while the first still works.
std::uint32_t number_for(const std::string& name) {
  const BytesView parts[] = {name};
  const auto digest = digest::sha256_parts("semel.consumer", parts);
  std::uint32_t number = 0;
  for (std::size_t i = 0; i < sizeof number; ++i) number = number << 8U | digest[i];
  return number % kMaxConsumer + 1;
}

class RedisStore final : public Store {
 public:
  RedisStore(Environment& environment, const StoreContext::Settings& place, const Facts& facts,
             const InnerOptions& inner)
      : context_(environment, place, inner.clock),
        held_(make_held(context_)),
        dead_letters_(make_dead_letters(context_)),
        runs_(make_run_markers(context_)),
        inspector_(make_inspector(context_, inner.clock)),
        positions_(make_positions(context_)),
        gates_(make_gates(context_, inner.clock)),
        live_(make_live_checks(context_)),
        steps_(make_steps(context_)),
        audit_(make_audit(context_, inner.clock)) {
    traits_.durable = facts.keeps_log;
    traits_.forgets = facts.evicts;
    traits_.largest_message = facts.largest;
    keeps_messages_ = !facts.evicts_all;
  }

  const StoreTraits& traits() const noexcept override { return traits_; }
  StoreFacets facets() noexcept override {
    StoreFacets facets;
    facets.records = inspector_.get();
    facets.positions = positions_.get();
    facets.gates = gates_.get();
    facets.live = live_.get();
    facets.steps = steps_.get();
    facets.audit = audit_.get();
    if (!keeps_messages_) return facets;
    facets.held = held_.get();
    facets.dead_letters = dead_letters_.get();
    facets.runs = runs_.get();
    return facets;
  }

  Result<ConsumerNumber> attach(const ConsumerSpec& spec) override {
    return core::contained([&] { return attach_now(spec); });
  }
  Result<std::vector<Claim>> claim(std::span<const Message* const> messages,
                                   const ClaimOptions& options) override {
    return core::contained([&] { return claim_now(messages, options); });
  }
  Result<std::vector<Applied>> renew(std::span<const Lease> leases, milliseconds lease) override {
    return core::contained([&] { return renew_now(leases, lease); });
  }
  Result<std::vector<Applied>> finish(std::span<const Finish> batch) override {
    return core::contained([&] {
      need_room(context_, batch);
      return finish_now(batch);
    });
  }
  // The server expires records by itself.
  Result<PurgeReport> purge(milliseconds) override { return PurgeReport{}; }

 private:
  ConsumerNumber attach_now(const ConsumerSpec& spec);
  std::vector<Claim> claim_now(std::span<const Message* const> messages,
                               const ClaimOptions& options);
  void stay_holder(std::vector<Claim>& claims, milliseconds lease);
  [[noreturn]] void refuse_claims(const core::Failure& refused, std::span<const Claim> claims);
  std::vector<Applied> renew_now(std::span<const Lease> leases, milliseconds lease);
  std::vector<Applied> renew_once(std::span<const Lease> leases, milliseconds lease);
  std::vector<Applied> finish_now(std::span<const Finish> batch);
  std::vector<Applied> finish_once(std::span<const Finish> batch);
  void end_renamed(std::span<const Finish> batch, std::size_t renames,
                   std::vector<Applied>& answers);
  std::vector<Applied> end_now(std::span<const Finish> batch);
  static bool completes(std::span<const Finish> batch, bool (*which)(const Finish&));
  std::vector<Applied> complete_now(std::span<const Finish> batch);
  std::vector<Applied> complete_with_rows(std::span<const Finish> batch);
  void end_rest(std::span<const Finish> batch, std::span<const std::size_t> places,
                std::vector<Applied>& answers);

  Parts asked(std::span<const Message* const> messages, const ClaimOptions& options,
              const std::vector<Nonce>& nonces);
  std::vector<Applied> applied(Script& script, const Parts& parts);
  // Adds the entries of streams that the batch settles here; false where there are none.
  bool add_entries(std::span<const Finish> batch, Parts& parts) const;
  void saw(Token token) noexcept;
  std::string ttl_of(const KeyId& id) SEMEL_EXCLUDES(mutex_);

  StoreContext context_;
  ClusterFinish finish_{context_};
  StoreTraits traits_ = kRedisTraits;
  bool keeps_messages_ = true;
  const std::unique_ptr<HeldMessages> held_;
  const std::unique_ptr<DeadLetters> dead_letters_;
  const std::unique_ptr<RunMarkers> runs_;
  // The greatest token ever given to this process: a server that has forgotten everything, or whose
  // clock is behind, continues above it.
  std::atomic<std::uint64_t> seen_{0};
  system::Mutex mutex_;
  std::map<ConsumerNumber, std::optional<milliseconds>> ttls_ SEMEL_GUARDED_BY(mutex_);
  const std::unique_ptr<RecordInspector> inspector_;
  const std::unique_ptr<Positions> positions_;
  const std::unique_ptr<Gates> gates_;
  const std::unique_ptr<LiveChecks> live_;
  const std::unique_ptr<StepStore> steps_;
  const std::unique_ptr<AuditLog> audit_;
};

ConsumerNumber RedisStore::attach_now(const ConsumerSpec& spec) {
  Call call;
  call.keys = {context_.names.consumers, context_.names.numbers, context_.names.ttls};
  call.arguments = {spec.name,
                    std::to_string(number_for(spec.name)),
                    spec.recipe_hash,
                    spec.accept_recipe ? "1" : "0",
                    std::to_string(kMaxConsumer),
                    ttl_text(spec.ttl)};
  // Idempotent.
  const Reply reply = context_.run_one(context_.scripts.attach, call, Loss::kNothingDone);
  if (reply.number == 0) refuse_recipe(spec.name);
  if (reply.number > kMaxConsumer) {
    core::fail({ErrorKind::kRejected, "R202",
                "consumer \"" + spec.name + "\" has a number that this Semel never gives",
                "use another prefix"});
  }
  const ConsumerNumber number{static_cast<std::uint32_t>(reply.number)};
  const system::MutexLock lock(mutex_);
  ttls_[number] = spec.ttl;
  return number;
}

void RedisStore::saw(Token token) noexcept {
  const auto number = static_cast<std::uint64_t>(token);
  std::uint64_t before = seen_;
  while (before < number && !seen_.compare_exchange_weak(before, number)) {
  }
}

Parts RedisStore::asked(std::span<const Message* const> messages, const ClaimOptions& options,
                        const std::vector<Nonce>& nonces) {
  constexpr std::size_t kLife = 3;
  const std::string lease = std::to_string(options.lease.count());
  const std::string seen = std::to_string(seen_.load());
  const Bytes gone = context_.instance.gone();
  Parts parts(context_, messages.size());
  for (std::size_t i = 0; i < messages.size(); ++i) {
    const KeyId& id = messages[i]->key().id;
    Call& call = parts.add_record(id, 0, [&](Call& begun) {
      begun.keys.push_back(context_.names.token_of(id));
      begun.arguments.append({lease, options.want_result ? "1" : "0", seen, BytesView(), gone});
      begun.life_at = kLife;
    });
    call.keys.push_written([&](Bytes& word) { context_.names.append_record(word, id); });
    call.arguments.push_written([&](Bytes& word) {
      word += messages[i]->fingerprint().view();
      word += nonce_bytes(nonces[i]);
      append_sized(word, messages[i]->key().text);
    });
  }
  return parts;
}

Finish begun_in_vain(const Lease& lease) {
  Finish finish;
  finish.to = Finish::To::kNotStarted;
  finish.lease = lease;
  return finish;
}

std::vector<Claim> RedisStore::claim_now(std::span<const Message* const> messages,
                                         const ClaimOptions& options) {
  std::vector<Claim> claims;
  if (messages.empty()) return claims;
  failpoint::hit(context_.environment, failpoint::kBegun);
  context_.stay_known(Loss::kNothingDone);
  const std::size_t renames = context_.instance.renames();
  std::vector<Nonce> nonces;
  nonces.reserve(messages.size());
  for (std::size_t i = 0; i < messages.size(); ++i) {
    // A nonce without the instance's name is not freed when the instance is dead.
    nonces.push_back(options.outlives_process ? spi::draw_nonce(*context_.environment.random)
                                              : context_.instance.draw_nonce());
  }
  const Parts parts = asked(messages, options, nonces);
  std::vector<Reply> replies;
  std::optional<milliseconds> again;
  try {
    replies = context_.router.run(context_.scripts.claim, parts.calls(), Loss::kInDoubt);
  } catch (const core::Failure& failed) {
    if (failed.error().kind != ErrorKind::kInDoubt) throw;
    // Under the same nonces: keys claimed before the answer was lost are found to be ours.
    again = options.lease;
    replies = context_.router.run(context_.scripts.claim, parts.calls(), Loss::kInDoubt);
  }
  failpoint::hit(context_.environment, failpoint::kClaimed);
  claims.resize(messages.size());
  std::optional<core::Failure> refused;
  parts.each([&](std::size_t at, std::size_t call, std::size_t i) {
    try {
      claims[at] = answer_to_claim(*messages[at], nonces[at], replies[call], i, again);
    } catch (const core::Failure& failed) {
      if (!refused) refused = failed;
      claims[at] = Busy{};  // it is not acquired, and must not be freed
      return;
    }
    if (const auto* acquired = std::get_if<Acquired>(&claims[at])) saw(acquired->lease.token);
  });
  if (refused) refuse_claims(*refused, claims);
  try {
    context_.stay_known(Loss::kNothingDone);
    if (context_.instance.renames() != renames) stay_holder(claims, options.lease);
  } catch (const core::Failure& failed) {
    refuse_claims(failed, claims);
  }
  return claims;
}

// The instance may have been found dead before it claimed: its leases are renewed under its new
// name, and others may have taken some over.
void RedisStore::stay_holder(std::vector<Claim>& claims, milliseconds lease) {
  std::vector<Lease> leases;
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < claims.size(); ++i) {
    const auto* acquired = std::get_if<Acquired>(&claims[i]);
    if (acquired == nullptr) continue;
    leases.push_back(acquired->lease);
    places.push_back(i);
  }
  const std::vector<Applied> renewed = renew_now(leases, lease);
  for (std::size_t i = 0; i < renewed.size(); ++i) {
    if (renewed[i] == Applied::kLeaseLost) claims[places[i]] = Busy{};
  }
}

// Frees what is claimed: otherwise it would be handled only after its lease.
void RedisStore::refuse_claims(const core::Failure& refused, std::span<const Claim> claims) {
  std::vector<Finish> begun;
  for (const Claim& claim : claims) {
    const auto* acquired = std::get_if<Acquired>(&claim);
    if (acquired != nullptr) begun.push_back(begun_in_vain(acquired->lease));
  }
  try {
    // Some may have been renewed under another name.
    std::vector<Finish> kept;
    if (!begun.empty()) end_now(compared(context_.instance, begun, kept));
  } catch (const core::Failure&) {
    throw in_doubt(refused);
  }
  throw core::Failure(refused);
}

std::vector<Applied> RedisStore::applied(Script& script, const Parts& parts) {
  std::vector<Applied> answers(parts.size(), Applied::kLeaseLost);
  parts.each_letter(context_.run(script, parts.calls(), Loss::kInDoubt),
                    [&](std::size_t at, char said) { answers[at] = applied_of(said); });
  return answers;
}

bool RedisStore::add_entries(std::span<const Finish> batch, Parts& parts) const {
  if (context_.names.cluster) return false;
  std::vector<std::vector<SettledEntry>> of_calls;
  parts.each([&](std::size_t at, std::size_t call, std::size_t i) {
    const StreamEntry* const entry = entry_settled_here(batch[at], context_.database);
    if (entry == nullptr) return;
    of_calls.resize(parts.calls().size());
    of_calls[call].push_back({entry, i + 1});
  });
  for (std::size_t i = 0; i < of_calls.size(); ++i) append_entries(parts.calls()[i], of_calls[i]);
  return !of_calls.empty();
}

std::vector<Applied> RedisStore::renew_now(std::span<const Lease> leases, milliseconds lease) {
  if (leases.empty()) return {};
  for (;;) {
    context_.stay_known(Loss::kNothingDone);
    const std::size_t renames = context_.instance.renames();
    std::vector<Applied> answers = renew_once(leases, lease);
    context_.stay_known(Loss::kInDoubt);
    if (context_.instance.renames() == renames) return answers;
  }
}

std::vector<Applied> RedisStore::renew_once(std::span<const Lease> leases, milliseconds lease) {
  Parts parts(context_, leases.size());
  for (const Lease& one : leases) {
    Call& call = parts.add_record(
        one.key, 0, [&](Call& begun) { begun.arguments.push_back(std::to_string(lease.count())); });
    call.keys.push_written([&](Bytes& word) { context_.names.append_record(word, one.key); });
    call.arguments.push_written([&](Bytes& word) {
      word += nonce_bytes(context_.instance.compared(one.nonce));
      word += context_.instance.new_name_for(one.nonce);
    });
  }
  return applied(context_.scripts.renew, parts);
}

// In ms; empty: for ever.
std::string RedisStore::ttl_of(const KeyId& id) {
  {
    const system::MutexLock lock(mutex_);
    const auto found = ttls_.find(id.consumer());
    if (found != ttls_.end()) return ttl_text(found->second);
  }
  // An operator's command has not attached it.
  const auto number = std::to_string(static_cast<std::uint32_t>(id.consumer()));
  const Reply kept = context_.router.ask({"HGET", context_.names.ttls, number}, Loss::kNothingDone);
  return kept.kind == Reply::Kind::kNil ? ttl_text(kUnknownTtl) : kept.bytes;
}

// Whether a script for completions can take the batch: all its records have one ttl.
bool RedisStore::completes(std::span<const Finish> batch, bool (*which)(const Finish&)) {
  const Finish* leased = nullptr;
  return std::ranges::all_of(batch, [&](const Finish& one) {
    if (!which(one)) return false;
    if (!is_leased(one)) return true;
    if (leased == nullptr) leased = &one;
    return one.lease->key.consumer() == leased->lease->key.consumer();
  });
}

std::vector<Applied> RedisStore::finish_now(std::span<const Finish> batch) {
  if (batch.empty()) return {};
  if (!keeps_messages_) need_no_messages(batch);
  const std::size_t renames = context_.instance.renames();
  std::vector<Applied> answers = finish_once(batch);
  end_renamed(batch, renames, answers);
  failpoint::hit(context_.environment, failpoint::kCommitAfter);
  return answers;
}

std::vector<Applied> RedisStore::finish_once(std::span<const Finish> batch) {
  std::vector<Finish> kept;
  batch = compared(context_.instance, batch, kept);
  failpoint::hit(context_.environment, failpoint::kCommitBefore);
  if (completes(batch, only_completes)) return complete_now(batch);
  if (!context_.names.cluster && completes(batch, only_completes_or_acks)) {
    return complete_with_rows(batch);
  }
  return end_now(batch);
}

// Ends those that were compared under a name that a renewal has replaced since. `renames`: as many
// as there were before.
void RedisStore::end_renamed(std::span<const Finish> batch, std::size_t renames,
                             std::vector<Applied>& answers) {
  while (context_.instance.renames() != renames) {
    renames = context_.instance.renames();
    std::vector<std::size_t> places;
    for (std::size_t i = 0; i < batch.size(); ++i) {
      if (is_leased(batch[i]) && answers[i] == Applied::kLeaseLost) places.push_back(i);
    }
    std::vector<Finish> kept;
    end_rest(compared(context_.instance, batch, kept), places, answers);
  }
}

std::vector<Applied> RedisStore::end_now(std::span<const Finish> batch) {
  const auto ttl = [this](const Finish& one) { return one.lease ? ttl_of(one.lease->key) : ""; };
  if (context_.names.cluster) return finish_.end(batch, ttl);
  Parts parts(context_);
  for (const Finish& one : batch) {
    Call& call = parts.add({}, weight_of(one),
                           [&](Call& begun) { begun.arguments.push_back(context_.names.prefix); });
    append_finish(call, context_.names, one, ttl(one));
  }
  add_entries(batch, parts);
  return applied(context_.scripts.finish, parts);
}

// All of one consumer.
std::vector<Applied> RedisStore::complete_now(std::span<const Finish> batch) {
  const std::string ttl = ttl_of(batch[0].lease->key);
  Parts parts(context_, batch.size());
  for (const Finish& one : batch) {
    append_completion(parts.add_record(one.lease->key, weight_of(one),
                                       [&](Call& begun) { begun.arguments.push_back(ttl); }),
                      context_.names, one);
  }
  Script& script =
      add_entries(batch, parts) ? context_.scripts.complete_entries : context_.scripts.complete;
  std::vector<Applied> answers(batch.size(), Applied::kLeaseLost);
  std::vector<std::size_t> places;
  parts.each_letter(context_.run(script, parts.calls(), Loss::kInDoubt),
                    [&](std::size_t at, char said) {
                      answers[at] = applied_of(said);
                      if (said == kHasRow) places.push_back(at);
                    });
  end_rest(batch, places, answers);
  return answers;
}

std::vector<Applied> RedisStore::complete_with_rows(std::span<const Finish> batch) {
  const auto leased = std::ranges::find_if(batch, is_leased);
  const std::string ttl = leased == batch.end() ? std::string() : ttl_of(leased->lease->key);
  const Completions completions(context_.names, batch, ttl, context_.database);
  std::vector<Applied> answers(batch.size(), Applied::kLeaseLost);
  std::vector<std::size_t> places;
  completions.each(
      context_.run(context_.scripts.complete_rows, completions.calls(), Loss::kInDoubt),
      [&](std::size_t at, Applied applied) { answers[at] = applied; },
      [&](std::size_t at) { places.push_back(at); });
  end_rest(batch, places, answers);
  return answers;
}

// Ends the entries at `places`, which a script for completions has left unchanged.
void RedisStore::end_rest(std::span<const Finish> batch, std::span<const std::size_t> places,
                          std::vector<Applied>& answers) {
  if (places.empty()) return;
  std::vector<Finish> left;
  for (const std::size_t at : places) left.push_back(batch[at]);
  try {
    const std::vector<Applied> rest = end_now(left);
    for (std::size_t i = 0; i < places.size(); ++i) answers[places[i]] = rest[i];
  } catch (const core::Failure& failed) {
    if (left.size() == batch.size()) throw;
    throw in_doubt(failed);  // the others are done
  }
}

}  // namespace

Result<std::unique_ptr<Store>> open_store(RedisOptions options, const InnerOptions& inner) {
  return core::contained([&]() -> std::unique_ptr<Store> {
    Target target = target_of(options.url);
    if (options.prefix.find_first_of("{}") != std::string::npos) {
      core::fail({ErrorKind::kRejected, "R259",
                  fmt::format("the prefix \"{}\" has a brace", options.prefix),
                  "braces choose the node of a Cluster: leave them out"});
    }
    if (options.wait_replicas < 0) {
      core::fail({ErrorKind::kRejected, "E015",
                  fmt::format("wait_replicas is {}: it is a number of replicas, 0 for none",
                              options.wait_replicas),
                  "give RedisOptions::wait_replicas 0 or more"});
    }
    Environment& environment =
        options.environment != nullptr ? *options.environment : system_environment();
    const Confirm confirm{options.wait_replicas,
                          std::min(kReplicaPatience, target.answer_timeout / 2)};
    StoreContext::Settings place{std::move(target), options.prefix, false, options.connections,
                                 confirm};
    const Facts facts = look_at(place, options.accept_eviction, *environment.random);
    place.largest = facts.largest;
    if (!place.cluster) place.confirm.name = options.prefix + "{store}" + place.confirm.name;
    return std::make_unique<RedisStore>(environment, place, facts, inner);
  });
}

}  // namespace semel::redis

namespace semel {

Result<std::unique_ptr<Store>> open_redis(RedisOptions options) {
  return redis::open_store(std::move(options), {});
}

}  // namespace semel
