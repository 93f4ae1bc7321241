#include "stores/redis/store.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <map>
#include <mutex>
#include <utility>

#include "base/digest.h"
#include "core/key_encoding.h"
#include "core/record_machine.h"
#include "stores/redis/facts.h"
#include "stores/redis/gates.h"
#include "stores/redis/inspector.h"
#include "stores/redis/live_checks.h"
#include "stores/redis/names.h"
#include "stores/redis/pool.h"
#include "stores/redis/positions.h"
#include "stores/redis/record.h"

namespace semel::redis {
namespace {

using std::chrono::milliseconds;

// Of one call of a script: for as long as it takes the server does nothing else.
constexpr std::size_t kMostKeys = 256;

Nonce draw(Random& random) {
  const std::uint64_t words[] = {random.next(), random.next()};
  Nonce nonce;
  static_assert(sizeof words == sizeof nonce.bytes);
  std::memcpy(nonce.bytes.data(), words, sizeof words);
  return nonce;
}

Bytes bytes_of(const Nonce& nonce) {
  return Bytes(reinterpret_cast<const char*>(nonce.bytes.data()), nonce.bytes.size());
}

// The same for a name whatever else is there: a server that has forgotten all must not give one
// consumer's number to another while the first still works.
std::uint32_t number_for(const std::string& name) {
  const BytesView parts[] = {name};
  const auto digest = digest::sha256_parts("semel.consumer", parts);
  std::uint32_t number = 0;
  for (std::size_t i = 0; i < sizeof number; ++i) number = number << 8U | digest[i];
  return number % core::kMaxConsumerNumber + 1;
}

char letter_of(Finish::To to) {
  switch (to) {
    case Finish::To::kCompleted:
      return 'D';
    case Finish::To::kRetrying:
      return 'R';
    case Finish::To::kParked:
      return 'P';
    case Finish::To::kDead:
      return 'X';
    default:
      return 'N';
  }
}

void need_no_held_messages(std::span<const Finish> batch) {
  const bool refused = std::ranges::any_of(batch, [](const Finish& one) {
    return !one.lease || one.keep != nullptr || one.ack || one.inbox;
  });
  if (!refused) return;
  core::fail({ErrorKind::kRejected, "R267",
              "the Redis store keeps no messages: what is to be tried later, parked or dead has to "
              "stay where it came from",
              "use a store that keeps them: SQLite, PostgreSQL, MariaDB or MySQL"});
}

// Where a part of what was sent together was refused, the rest was done.
core::Failure refused_among(const Reply& refused, std::span<const Reply> all) {
  Error error = failure_of(refused).error();
  const bool all_refused = std::ranges::all_of(all, &Reply::is_error);
  if (!all_refused) error.kind = ErrorKind::kInDoubt;
  return {std::move(error), 1};
}

class RedisStore final : public Store {
 public:
  RedisStore(const RedisOptions& options, Target target, const Facts& facts,
             const InnerOptions& inner)
      : environment_(options.environment != nullptr ? *options.environment : system_environment()),
        target_(std::move(target)),
        names_(options.prefix),
        scripts_(inner.clock),
        pool_([this] { return std::make_unique<Wire>(target_); }, options.connections),
        inspector_(make_inspector(pool_, names_, inner.clock)),
        positions_(make_positions(
            pool_, names_, [this] { return std::make_unique<Wire>(target_); }, environment_)),
        gates_(make_gates(pool_, names_, inner.clock)),
        live_(make_live_checks(pool_)) {
    traits_.name = "redis";
    traits_.durable = facts.keeps_log;
    traits_.forgets = facts.evicts;
  }

  const StoreTraits& traits() const noexcept override { return traits_; }
  StoreFacets facets() noexcept override {
    StoreFacets facets;
    facets.records = inspector_.get();
    facets.positions = positions_.get();
    facets.gates = gates_.get();
    facets.live = live_.get();
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
    return core::contained([&] { return finish_now(batch); });
  }
  // The server lets records go by itself.
  Result<PurgeReport> purge(milliseconds) override { return PurgeReport{}; }

 private:
  ConsumerNumber attach_now(const ConsumerSpec& spec);
  std::vector<Claim> claim_now(std::span<const Message* const> messages,
                               const ClaimOptions& options);
  std::vector<Applied> renew_now(std::span<const Lease> leases, milliseconds lease);
  std::vector<Applied> finish_now(std::span<const Finish> batch);

  std::vector<Reply> ask_to_claim(std::span<const Message* const> messages,
                                  const ClaimOptions& options, const std::vector<Nonce>& nonces);
  std::vector<Applied> applied(Script& script, const std::vector<Call>& calls, std::size_t count);
  void saw(Token token) noexcept;
  std::string ttl_of(const KeyId& id);

  Environment& environment_;
  StoreTraits traits_;
  const Target target_;
  const Names names_;
  Scripts scripts_;
  Pool pool_;
  // The greatest token that was ever given to this process: also a server that has forgotten all,
  // or whose clock stands behind, goes on above it.
  std::atomic<std::uint64_t> seen_{0};
  std::mutex mutex_;
  std::map<ConsumerNumber, std::optional<milliseconds>> ttls_;
  const std::unique_ptr<RecordInspector> inspector_;
  const std::unique_ptr<Positions> positions_;
  const std::unique_ptr<Gates> gates_;
  const std::unique_ptr<LiveChecks> live_;
};

ConsumerNumber RedisStore::attach_now(const ConsumerSpec& spec) {
  Call call;
  call.keys = {names_.consumers, names_.numbers};
  call.arguments = {spec.name, std::to_string(number_for(spec.name)), spec.recipe_hash,
                    spec.accept_recipe ? "1" : "0", std::to_string(core::kMaxConsumerNumber)};
  Lent wire(pool_);
  // Said twice it comes to the same.
  const Reply reply = scripts_.attach.run(*wire, {&call, 1}, Loss::kNothingDone).front();
  if (reply.is_error()) throw failure_of(reply);
  if (reply.number == 0) {
    core::fail({ErrorKind::kRejected, "R220",
                "the key recipe of consumer \"" + spec.name +
                    "\" changed: every key would be new, and what was handled before would be "
                    "handled again",
                "accept: [key_recipe] on the consumer, or the recipe as it was"});
  }
  const ConsumerNumber number{static_cast<std::uint32_t>(reply.number)};
  const std::scoped_lock lock(mutex_);
  ttls_[number] = spec.ttl;
  return number;
}

void RedisStore::saw(Token token) noexcept {
  const auto number = static_cast<std::uint64_t>(token);
  std::uint64_t before = seen_;
  while (before < number && !seen_.compare_exchange_weak(before, number)) {
  }
}

std::vector<Reply> RedisStore::ask_to_claim(std::span<const Message* const> messages,
                                            const ClaimOptions& options,
                                            const std::vector<Nonce>& nonces) {
  Lent wire(pool_);
  std::vector<Call> calls;
  for (std::size_t first = 0; first < messages.size(); first += kMostKeys) {
    const std::size_t end = std::min(first + kMostKeys, messages.size());
    Call& call = calls.emplace_back();
    call.keys.reserve(end - first + 1);
    call.keys.push_back(names_.token);
    call.arguments = {std::to_string(options.lease.count()), options.want_result ? "1" : "0",
                      std::to_string(seen_.load()), wire->run_id()};
    for (std::size_t i = first; i < end; ++i) {
      call.keys.push_back(names_.record(messages[i]->key().id));
      call.arguments.emplace_back(messages[i]->fingerprint().view());
      call.arguments.push_back(bytes_of(nonces[i]));
      call.arguments.push_back(sized(messages[i]->key().text));
    }
  }
  return scripts_.claim.run(*wire, calls, Loss::kInDoubt);
}

Claim answer_for(const Message& message, const Nonce& nonce, BytesView bytes, StoreTime now) {
  std::optional<core::Record> record = decoded(bytes);
  const KeyId& id = message.key().id;
  if (record->state == RecordState::kConsuming && record->nonce == nonce) {
    Acquired acquired;
    acquired.lease = {id, record->token, nonce};
    acquired.attempt = record->attempt;
    acquired.taken_over = record->outcome_unknown;
    acquired.since_first = std::max(now - record->first_seen, milliseconds(0));
    return acquired;
  }
  Claim claim = core::decide_claim(record, {id, message.fingerprint(), {}, nonce, {}}, now);
  if (std::holds_alternative<Acquired>(claim)) {
    core::fail(
        {ErrorKind::kUnavailable, "R200", "the server did not give what it could have given", {}});
  }
  return claim;
}

std::vector<Claim> RedisStore::claim_now(std::span<const Message* const> messages,
                                         const ClaimOptions& options) {
  std::vector<Claim> claims;
  if (messages.empty()) return claims;
  SEMEL_FAILPOINT(environment_, failpoint::kBegun);
  std::vector<Nonce> nonces;
  nonces.reserve(messages.size());
  for (std::size_t i = 0; i < messages.size(); ++i) nonces.push_back(draw(*environment_.random));
  std::vector<Reply> replies;
  try {
    replies = ask_to_claim(messages, options, nonces);
  } catch (const core::Failure& failed) {
    if (failed.error().kind != ErrorKind::kInDoubt) throw;
    // Under the same nonces: what was claimed before the answer was lost is found to be ours.
    replies = ask_to_claim(messages, options, nonces);
  }
  SEMEL_FAILPOINT(environment_, failpoint::kClaimed);
  claims.reserve(messages.size());
  for (const Reply& reply : replies) {
    if (reply.is_error()) throw failure_of(reply);
    const StoreTime now{milliseconds(reply.list.at(0).number)};
    for (std::size_t i = 1; i < reply.list.size(); ++i) {
      const std::size_t at = claims.size();
      claims.push_back(answer_for(*messages[at], nonces[at], reply.list[i].bytes, now));
      if (const auto* acquired = std::get_if<Acquired>(&claims.back())) {
        saw(acquired->lease.token);
      }
    }
  }
  return claims;
}

std::vector<Applied> RedisStore::applied(Script& script, const std::vector<Call>& calls,
                                         std::size_t count) {
  Lent wire(pool_);
  const std::vector<Reply> replies = script.run(*wire, calls, Loss::kInDoubt);
  std::vector<Applied> answers;
  answers.reserve(count);
  for (const Reply& reply : replies) {
    if (reply.is_error()) throw refused_among(reply, replies);
    for (const char one : reply.bytes) {
      answers.push_back(one == '1' ? Applied::kYes : Applied::kLeaseLost);
    }
  }
  return answers;
}

std::vector<Applied> RedisStore::renew_now(std::span<const Lease> leases, milliseconds lease) {
  if (leases.empty()) return {};
  std::vector<Call> calls;
  for (std::size_t first = 0; first < leases.size(); first += kMostKeys) {
    Call& call = calls.emplace_back();
    call.arguments.push_back(std::to_string(lease.count()));
    for (const Lease& one : leases.subspan(first, std::min(kMostKeys, leases.size() - first))) {
      call.keys.push_back(names_.record(one.key));
      call.arguments.push_back(bytes_of(one.nonce));
    }
  }
  return applied(scripts_.renew, calls, leases.size());
}

std::string RedisStore::ttl_of(const KeyId& id) {
  const std::scoped_lock lock(mutex_);
  const auto found = ttls_.find(id.consumer());
  if (found == ttls_.end() || !found->second) return {};
  return std::to_string(std::max<std::int64_t>(found->second->count(), 1));
}

std::vector<Applied> RedisStore::finish_now(std::span<const Finish> batch) {
  need_no_held_messages(batch);
  if (batch.empty()) return {};
  std::vector<Call> calls;
  for (std::size_t first = 0; first < batch.size(); first += kMostKeys) {
    Call& call = calls.emplace_back();
    for (const Finish& one : batch.subspan(first, std::min(kMostKeys, batch.size() - first))) {
      const unsigned flags =
          (one.unknown ? kFinishUnknown : 0) | (one.counted ? 0 : kFinishUncounted);
      const std::int64_t delay = std::max<std::int64_t>(one.delay.count(), 0);
      const bool completed = one.to == Finish::To::kCompleted;
      call.keys.push_back(names_.record(one.lease->key));
      call.arguments.push_back(bytes_of(one.lease->nonce));
      call.arguments.emplace_back(1, letter_of(one.to));
      call.arguments.push_back(std::to_string(flags));
      call.arguments.push_back(std::to_string(delay));
      call.arguments.push_back(ttl_of(one.lease->key));
      call.arguments.push_back(
          ending_of(one.reason, one.error, completed ? BytesView(one.result) : BytesView()));
    }
  }
  SEMEL_FAILPOINT(environment_, failpoint::kCommitBefore);
  std::vector<Applied> answers = applied(scripts_.finish, calls, batch.size());
  SEMEL_FAILPOINT(environment_, failpoint::kCommitAfter);
  return answers;
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
    Wire first(target);
    const Facts facts = look_at(first, options.accept_eviction);
    return std::make_unique<RedisStore>(options, std::move(target), facts, inner);
  });
}

}  // namespace semel::redis

namespace semel {

Result<std::unique_ptr<Store>> open_redis(RedisOptions options) {
  return redis::open_store(std::move(options), {});
}

}  // namespace semel
