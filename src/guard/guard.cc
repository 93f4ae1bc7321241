#include <semel/guard.h>

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <variant>

#include "core/consumer_name.h"
#include "core/guarantee.h"
#include "core/guard_recipe.h"
#include "core/key_encoding.h"
#include "core/step_key.h"
#include "guard/guard_access.h"
#include "guard/guard_impl.h"
#include "strategies/claim_policies.h"
#include "strategies/finish_collector.h"
#include "strategies/pipeline.h"
#include "strategies/resolver.h"
#include "strategies/two_phase.h"

namespace semel {

using guard::Caught;
using guard::rejected;

namespace {

std::vector<Result<Outcome>> answers_of(guard::Answers& sink) {
  std::vector<Result<Outcome>> answers;
  answers.reserve(sink.outcomes().size());
  for (Outcome& outcome : sink.outcomes()) answers.emplace_back(std::move(outcome));
  return answers;
}

}  // namespace

Error guard::rejected(std::string message, std::string hint) {
  return {ErrorKind::kRejected, {}, std::move(message), std::move(hint)};
}

Guard::Impl::Impl(Store& store, GuardOptions options)
    : store_(store),
      options_(std::move(options)),
      environment_(options_.environment != nullptr ? *options_.environment : system_environment()),
      stats_(strategies::make_pipeline_stats(options_.consumer)) {
  if (!core::is_name(options_.consumer)) {
    throw SemelError({ErrorKind::kRejected, "E024",
                      fmt::format("\"{}\" is not a consumer's name", options_.consumer),
                      std::string(core::kNameRule)});
  }
  if (options_.lease.count() <= 0) {
    throw SemelError(
        rejected(fmt::format("the lease of consumer \"{}\" has no length", options_.consumer),
                 "give GuardOptions::lease a positive duration"));
  }
  if (options_.lease > GuardOptions::kLongestLease) {
    throw SemelError(rejected(
        fmt::format("the lease of consumer \"{}\" is longer than a day", options_.consumer),
        "give GuardOptions::lease the time after which another may take the key of a process "
        "that died; while work runs, its lease is renewed"));
  }
  if (options_.ttl && (options_.ttl->count() <= 0 || *options_.ttl > GuardOptions::kLongestTtl)) {
    throw SemelError(
        rejected(fmt::format("the ttl of consumer \"{}\" is not between 1 ms and ten years",
                             options_.consumer),
                 "GuardOptions::ttl of nullopt keeps its records for ever"));
  }
  if (options_.timeout.count() < 0 || options_.grace.count() < 0) {
    throw SemelError(rejected(
        fmt::format("the timeout or the grace of consumer \"{}\" is negative", options_.consumer),
        "a GuardOptions::timeout of zero means that there is none"));
  }
  refuse_what_does_not_go();
  ConsumerSpec spec;
  spec.name = options_.consumer;
  spec.recipe_hash = core::kGuardRecipe;
  spec.ttl = options_.ttl;
  auto number = store_.attach(spec);
  if (!number) throw SemelError(std::move(number.error()));
  number_ = *number;
  if (options_.front) stand_behind_window();
}

void Guard::Impl::stand_behind_window() {
  strategies::FrontOptions options;
  options.consumer = options_.consumer;
  options.number = number_;
  options.positions = store_.facets().positions;
  options.window = options_.front;
  options.environment = &environment_;
  options.observer = &unobserved_;
  if (options.positions == nullptr) {
    throw SemelError(
        rejected(fmt::format("the {} store keeps no secret for a window", store_.traits().name),
                 "leave GuardOptions::front out"));
  }
  front_ = std::make_unique<strategies::Front>(std::move(options));
}

void Guard::Impl::refuse_what_does_not_go() const {
  const auto refuse = [&](std::string_view why, std::string_view hint) {
    throw SemelError(
        rejected(fmt::format("consumer \"{}\": {}", options_.consumer, why), std::string(hint)));
  };
  const StoreFacets facets = store_.facets();
  if (!options_.receivers.empty() && facets.held == nullptr && !store_.traits().borrowed) {
    refuse(fmt::format("the {} store has no queues to send to", store_.traits().name),
           "leave GuardOptions::receivers out");
  }
  if (!options_.steps && !options_.at_most_once && !options_.front) return;
  if (store_.traits().borrowed) {
    refuse("on a borrowed connection all work is the transaction's",
           "GuardOptions::steps, at_most_once and front are for a store of your own");
  }
  if (options_.at_most_once && facets.records == nullptr) {
    refuse(fmt::format("nobody could say how work ended: the {} store shows no records",
                       store_.traits().name),
           "leave GuardOptions::at_most_once out");
  }
  if (!options_.steps) return;
  if (const auto why = core::refuse_specs(*options_.steps)) {
    refuse(*why, "give each step a name of its own");
  }
  if (options_.at_most_once) {
    refuse("a step that is not done is called again, which at_most_once never does",
           "choose one of GuardOptions::steps and at_most_once");
  }
  if (facets.steps == nullptr) {
    refuse(fmt::format("the {} store keeps no journal of steps", store_.traits().name),
           fmt::format("a store that does: {}", core::kStoresWithSteps));
  }
}

std::optional<Outcome> Guard::Impl::refuse_key(BytesView key) {
  const std::size_t limit = core::Limits{}.key;
  if (!key.empty() && key.size() <= limit) return std::nullopt;
  Outcome outcome;
  outcome.kind = Outcome::Kind::kDead;
  outcome.settle = Outcome::Settle::kLater;
  outcome.delay = strategies::kAskPersonAgain;
  if (key.empty()) {
    outcome.reason = reason::kKeyInvalid;
    outcome.error = "an empty key identifies nothing";
  } else {
    outcome.reason = reason::kTooLarge;
    outcome.error = fmt::format("the key has {} bytes, and {} is the limit", key.size(), limit);
  }
  outcome.error += ": nothing keeps this message but its source";
  return outcome;
}

Message Guard::Impl::message_of(BytesView key, const Fingerprint& fingerprint) const {
  return Message({.key = {Bytes(key), core::encode_key(number_, key)}, .fingerprint = fingerprint});
}

Result<Outcome> Guard::Impl::run(BytesView key, const Fingerprint& fingerprint,
                                 const Handler& handler) {
  if (auto refused = refuse_key(key)) return *std::move(refused);
  Caught caught(options_.at_most_once);
  Handler work;
  const auto* const plain = std::get_if<PlainHandler>(&handler);
  if (plain != nullptr) {
    work = PlainHandler([&](const Message& message, const Attempt& attempt) {
      return caught([&] { return (*plain)(message, attempt); });
    });
  } else {
    work = TransactionalHandler([&](const Message& message, Transaction& tx) {
      return caught([&] { return std::get<TransactionalHandler>(handler)(message, tx); });
    });
  }
  core::TrackedDelivery one(message_of(key, fingerprint), {});
  Handled handled = handle({&one, 1}, work);
  caught.rethrow();
  Result<Outcome>& answer = handled.answers.front();
  // An error of a recorded statement is the work's own, as if `exec` had thrown it.
  if (handled.failed && answer && answer->kind == Outcome::Kind::kRetry) {
    throw StatementFailed(std::move(handled.failed->error), std::move(handled.failed->sql_class));
  }
  return std::move(answer);
}

Guard::Impl::Handled Guard::Impl::handle(std::span<core::TrackedDelivery> batch,
                                         const Handler& work) {
  if (!front_) return handle_known(batch, work);
  const auto lookup = front_->look(std::span<const core::TrackedDelivery>(batch));
  std::vector<core::TrackedDelivery> rest;
  std::vector<std::size_t> places;
  Handled all{std::vector<Result<Outcome>>(batch.size(), strategies::answered_by_front())};
  for (std::size_t i = 0; i < batch.size(); ++i) {
    if (lookup.completed[i]) continue;
    rest.push_back(std::move(batch[i]));
    places.push_back(i);
  }
  if (rest.empty()) return all;
  Handled asked = handle_known(rest, work);
  for (std::size_t i = 0; i < rest.size(); ++i) {
    tell_window(asked.answers[i], lookup.secret, rest[i].message);
    all.answers[places[i]] = std::move(asked.answers[i]);
  }
  all.failed = std::move(asked.failed);
  return all;
}

void Guard::Impl::tell_window(const Result<Outcome>& answer, BytesView secret,
                              const Message& message) {
  if (!answer) {
    const ErrorKind kind = answer.error().kind;
    if (kind == ErrorKind::kUnavailable || kind == ErrorKind::kInDoubt) front_->doubt();
  } else if (!secret.empty() && strategies::shows_completed(*answer)) {
    front_->keep(secret, message);
  }
}

Guard::Impl::Handled Guard::Impl::handle_known(std::span<core::TrackedDelivery> batch,
                                               const Handler& work) {
  const auto* plain = std::get_if<PlainHandler>(&work);
  if (plain != nullptr && !store_.traits().borrowed) {
    if (!options_.at_most_once || batch.size() == 1) return run_leased(batch, *plain);
    // If all were claimed first, those not begun would be in doubt after a crash.
    Handled all;
    for (core::TrackedDelivery& one : batch) {
      all.answers.push_back(std::move(run_leased({&one, 1}, *plain).answers.front()));
    }
    return all;
  }
  if (store_.facets().transactional != nullptr) return run_in_unit(batch, work);
  const auto refused = failure(
      rejected(fmt::format("the {} store has no transactions", store_.traits().name),
               "give the guard work that takes no Transaction, or a store that has transactions"));
  return {std::vector<Result<Outcome>>(batch.size(), refused)};
}

strategies::Context Guard::Impl::context() const {
  strategies::Context context;
  context.consumer = options_.consumer;
  context.store = &store_;
  context.environment = &environment_;
  context.claim.lease = options_.lease;
  context.claim.want_result = true;
  context.hold = false;
  for (const auto& [name, number] : options_.receivers) {
    // Whether others send there too is not known here.
    context.destinations.emplace(name, core::Route{.to = number, .shared = true});
  }
  // The caller decides how often to call again.
  context.retry.attempts = 0;
  context.retry.max_elapsed = std::chrono::milliseconds{0};
  return context;
}

strategies::Context Guard::Impl::leased_context() {
  strategies::Context context = this->context();
  if (renews_) context.services.monitor = &renewer();
  context.steps = options_.steps;
  if (options_.at_most_once) context = strategies::for_one_try(std::move(context));
  return context;
}

Guard::Impl::Handled Guard::Impl::run_in_unit(std::span<core::TrackedDelivery> batch,
                                              const Handler& work) {
  strategies::Context context = this->context();
  if (batch.size() > 1) context.stats = stats_;
  if (const auto* plain = std::get_if<PlainHandler>(&work)) {
    context.handler = TransactionalHandler([plain](const Message& message, Transaction& tx) {
      return (*plain)(message, tx.attempt());
    });
  } else {
    context.handler = work;
  }
  strategies::PipelineOptions options;
  options.always_rerun = store_.traits().borrowed;
  strategies::ClaimFirst entry;
  guard::Answers sink(batch);
  auto ran = strategies::Pipeline(context, options).run(strategies::pointers(batch), entry, sink);
  Handled handled{answers_of(sink), std::move(ran.failed)};
  for (auto& one : ran.given_back) {
    handled.answers[sink.index_of(*one.delivery)] = failure(std::move(one.error));
  }
  return handled;
}

Guard::Impl::Handled Guard::Impl::run_leased(std::span<core::TrackedDelivery> batch,
                                             const PlainHandler& work) {
  strategies::Context context = leased_context();
  context.handler = work;
  guard::Answers sink(batch);
  strategies::FinishCollector collector(context, sink);
  auto claimed = strategies::claim_batch(context, batch, collector, sink);
  strategies::run_calls(context, strategies::calls_of(claimed), collector, sink);
  auto unwritten = collector.given_back_for();
  if (unwritten) {
    unwritten->kind = ErrorKind::kInDoubt;
    unwritten->message = "the work ran, and its record could not be written: " + unwritten->message;
  }
  Handled handled{answers_of(sink)};
  for (Result<Outcome>& answer : handled.answers) {
    const bool refused = answer->kind == Outcome::Kind::kBusy && answer->attempt > 0;
    if (refused) answer->reason = reason::kLeaseLost;
    if (answer->reason != reason::kStoreUnavailable) continue;
    const bool ran = answer->attempt > 0;
    if (ran && unwritten) {
      answer = failure(*unwritten);
    } else if (!ran && claimed.given_back_for) {
      answer = failure(*claimed.given_back_for);
    }
  }
  return handled;
}

// Made for the first work that needs a lease: work in the store's transaction needs no thread.
strategies::LeaseRenewer& Guard::Impl::renewer() {
  const system::MutexLock lock(mutex_);
  if (renewer_) return *renewer_;
  strategies::LeaseRenewerOptions options;
  options.lease = options_.lease;
  options.timeout = options_.timeout;
  options.grace = options_.grace;
  options.longest_pause = options_.lease;  // one call has one ending: nothing waits behind it
  options.store = &store_;
  options.clock = environment_.clock;
  renewer_ = std::make_unique<strategies::LeaseRenewer>(std::move(options));
  return *renewer_;
}

std::unique_ptr<Guard> GuardAccess::without_renewal(Store& store, GuardOptions options) {
  auto guard = std::make_unique<Guard>(store, std::move(options));
  guard->impl_->renew_nothing();
  return guard;
}

Guard::Guard(Store& store, GuardOptions options)
    : impl_(std::make_unique<Impl>(store, std::move(options))) {}
Guard::~Guard() = default;
Guard::Guard(Guard&&) noexcept = default;
Guard& Guard::operator=(Guard&&) noexcept = default;

Result<Outcome> Guard::run(BytesView key, const Fingerprint& fingerprint, const Handler& handler) {
  return impl_->run(key, fingerprint, handler);
}

std::vector<Result<Outcome>> Guard::run_each(std::span<const BatchMessage> messages,
                                             const EachWork& work) {
  return impl_->run_each(messages, work);
}

Result<Begun> Guard::begin(BytesView key, const Fingerprint& fingerprint) {
  return impl_->begin(key, fingerprint);
}

}  // namespace semel
