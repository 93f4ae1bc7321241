#include <semel/guard.h>

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <memory>
#include <span>
#include <utility>
#include <variant>

#include <semel/environment.h>
#include <semel/observer.h>
#include <semel/unit_of_work.h>

#include "core/guarantee.h"
#include "core/key_encoding.h"
#include "core/step_key.h"
#include "strategies/decision.h"
#include "strategies/endings.h"
#include "strategies/entries.h"
#include "strategies/finisher.h"
#include "strategies/front.h"
#include "strategies/lease_renewer.h"
#include "strategies/pipeline.h"
#include "strategies/two_phase.h"
#include "system/mutex.h"

namespace semel {

namespace {

// Stands for "the caller says the key": a runner's recipe for the same consumer name is another.
constexpr std::string_view kRecipe = "guard";
constexpr std::size_t kLongestName = 63;

Error rejected(std::string message, std::string hint) {
  return {ErrorKind::kRejected, {}, std::move(message), std::move(hint)};
}

bool is_name(std::string_view name) {
  const auto lower = [](char c) { return c >= 'a' && c <= 'z'; };
  const auto inner = [&](char c) {
    return lower(c) || (c >= '0' && c <= '9') || c == '_' || c == '-';
  };
  return !name.empty() && name.size() <= kLongestName && lower(name.front()) &&
         std::all_of(name.begin(), name.end(), inner);
}

class OneEnding final : public EndingSink {
 public:
  void ended(Delivery&, Outcome outcome) noexcept override { outcome_ = std::move(outcome); }
  Outcome& outcome() noexcept { return outcome_; }

 private:
  Outcome outcome_;
};

// Runs work so that its exception undoes its record, and is there to be thrown again after that.
class Caught {
 public:
  // `in_doubt`: what threw may have had its effect.
  explicit Caught(bool in_doubt = false) : in_doubt_(in_doubt) {}
  template <class Work>
  Verdict operator()(Work&& work) {
    thrown_ = nullptr;
    try {
      return work();
    } catch (const strategies::BatchBroken&) {
      throw;
    } catch (const strategies::StepsOver&) {
      throw;
    } catch (...) {
      thrown_ = std::current_exception();
    }
    Verdict undone = retry("the work threw");
    undone.counted = false;
    undone.unknown = in_doubt_;
    return undone;
  }
  void rethrow() const {
    if (thrown_) std::rethrow_exception(thrown_);
  }

 private:
  const bool in_doubt_;
  std::exception_ptr thrown_;
};

}  // namespace

class Guard::Impl {
 public:
  Impl(Store& store, GuardOptions options)
      : store_(store), options_(std::move(options)), environment_(system_environment()) {
    if (!is_name(options_.consumer)) {
      throw SemelError(rejected(
          fmt::format("\"{}\" is no consumer's name", options_.consumer),
          "use lower-case letters, digits, _ and -, a letter first, at most 63 characters"));
    }
    if (options_.lease.count() <= 0) {
      throw SemelError(
          rejected(fmt::format("the lease of consumer \"{}\" has no length", options_.consumer),
                   "give GuardOptions::lease a positive duration"));
    }
    refuse_what_does_not_go();
    ConsumerSpec spec;
    spec.name = options_.consumer;
    spec.recipe_hash = kRecipe;
    spec.ttl = options_.ttl;
    auto number = store_.attach(spec);
    if (!number) throw SemelError(std::move(number.error()));
    number_ = *number;
    if (options_.front) stand_behind_window();
  }

  Result<Outcome> run(BytesView key, const Fingerprint& fingerprint, const Handler& handler) {
    if (key.empty()) {
      return failure(rejected("an empty key identifies nothing", "give each effect a key"));
    }
    const core::Limits limits;
    if (key.size() > limits.key) {
      return failure({ErrorKind::kLimit,
                      {},
                      fmt::format("the key has {} bytes, the limit is {}", key.size(), limits.key),
                      "use a digest of it as the key"});
    }
    Message::Parts parts;
    parts.key = {Bytes(key), core::encode_key(number_, key)};
    parts.fingerprint = fingerprint;
    Delivery delivery(Message(std::move(parts)), Arrival{});
    if (!front_) return run_known(delivery, handler);
    const auto glance = front_->look(std::span<const Delivery>(&delivery, 1));
    if (glance.completed.front()) return strategies::answered_by_front();
    auto outcome = run_known(delivery, handler);
    if (!outcome) {
      const ErrorKind kind = outcome.error().kind;
      if (kind == ErrorKind::kUnavailable || kind == ErrorKind::kInDoubt) front_->doubt();
    } else if (!glance.secret.empty() && strategies::shows_completed(*outcome)) {
      front_->keep(glance.secret, delivery.message);
    }
    return outcome;
  }

 private:
  Result<Outcome> run_known(Delivery& delivery, const Handler& handler) {
    const auto* plain = std::get_if<PlainHandler>(&handler);
    if (plain != nullptr && !store_.traits().borrowed) return run_leased(delivery, *plain);
    if (store_.facets().transactional == nullptr) {
      return failure(rejected(
          fmt::format("the {} store has no transactions", store_.traits().name),
          "give run_once work that takes no Transaction, or a store that has transactions"));
    }
    return run_in_unit(delivery, handler);
  }

  void stand_behind_window() {
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

  void refuse_what_does_not_go() const {
    if (!options_.steps && !options_.at_most_once && !options_.front) return;
    const auto refuse = [&](std::string_view why, std::string_view hint) {
      throw SemelError(
          rejected(fmt::format("consumer \"{}\": {}", options_.consumer, why), std::string(hint)));
    };
    if (store_.traits().borrowed) {
      refuse("on a borrowed connection all work is the transaction's",
             "GuardOptions::steps, at_most_once and front are for a store of your own");
    }
    if (!options_.steps) return;
    if (const auto why = core::refuse_specs(*options_.steps)) {
      refuse(*why, "give each step a name of its own");
    }
    if (options_.at_most_once) {
      refuse("a step that is not done is called again, which at_most_once never does",
             "choose one of GuardOptions::steps and at_most_once");
    }
    if (store_.facets().steps == nullptr) {
      refuse(fmt::format("the {} store keeps no journal of steps", store_.traits().name),
             fmt::format("a store that does: {}", core::kStoresWithSteps));
    }
  }

  strategies::Context context() {
    strategies::Context context;
    context.consumer = options_.consumer;
    context.store = &store_;
    context.environment = &environment_;
    context.claim.lease = options_.lease;
    context.claim.want_result = true;
    context.hold = false;
    context.destinations = options_.receivers;
    // Whoever calls again decides how often.
    context.retry.attempts = 0;
    context.retry.max_elapsed = std::chrono::milliseconds{0};
    return context;
  }

  Result<Outcome> run_in_unit(Delivery& delivery, const Handler& handler) {
    Caught caught;
    strategies::Context context = this->context();
    context.handler = TransactionalHandler([&](const Message& message, Transaction& tx) {
      return caught([&] {
        if (const auto* plain = std::get_if<PlainHandler>(&handler)) {
          return (*plain)(message, tx.attempt());
        }
        return std::get<TransactionalHandler>(handler)(message, tx);
      });
    });
    strategies::PipelineOptions options;
    options.always_rerun = store_.traits().borrowed;
    strategies::ClaimEntry entry;
    OneEnding ending;
    Delivery* const one = &delivery;
    auto ran = strategies::Pipeline(context, options).run({&one, 1}, entry, ending);
    caught.rethrow();
    Outcome& outcome = ending.outcome();
    if (ran.given_back_for && outcome.kind != Outcome::Kind::kBusy) {
      return failure(*std::move(ran.given_back_for));
    }
    // An error of a recorded statement is the work's own, as if `exec` had thrown it.
    if (ran.failed && outcome.kind == Outcome::Kind::kRetry) {
      throw StatementFailed(std::move(ran.failed->error), std::move(ran.failed->sql_class));
    }
    return std::move(outcome);
  }

  Result<Outcome> run_leased(Delivery& delivery, const PlainHandler& work) {
    Caught caught(options_.at_most_once);
    strategies::Context context = this->context();
    context.services.keeper = &renewer();
    context.steps = options_.steps;
    if (options_.at_most_once) context = strategies::for_one_try(std::move(context));
    context.handler = PlainHandler([&](const Message& message, const Attempt& attempt) {
      return caught([&] { return work(message, attempt); });
    });
    OneEnding ending;
    strategies::Finisher finisher(context, ending);
    auto claimed = strategies::claim_batch(context, {&delivery, 1}, finisher, ending);
    if (claimed.given_back_for) return failure(*std::move(claimed.given_back_for));
    strategies::run_calls(context, strategies::calls_of(claimed), finisher, ending);
    caught.rethrow();
    if (auto error = finisher.given_back_for()) {
      error->kind = ErrorKind::kInDoubt;
      error->message = "the work ran, and its record could not be written: " + error->message;
      return failure(*std::move(error));
    }
    return std::move(ending.outcome());
  }

  // Made for the first work that needs a lease: work in the store's transaction needs no thread.
  strategies::LeaseRenewer& renewer() {
    const system::MutexLock lock(mutex_);
    if (renewer_) return *renewer_;
    strategies::LeaseRenewerOptions options;
    options.lease = options_.lease;
    options.longest_pause = options_.lease;  // one call has one ending: nothing waits behind it
    options.store = &store_;
    options.clock = environment_.clock;
    renewer_ = std::make_unique<strategies::LeaseRenewer>(std::move(options));
    return *renewer_;
  }

  Store& store_;
  const GuardOptions options_;
  Environment& environment_;
  ConsumerNumber number_{};
  system::Mutex mutex_;
  std::unique_ptr<strategies::LeaseRenewer> renewer_ SEMEL_GUARDED_BY(mutex_);
  Observer unobserved_;
  std::unique_ptr<strategies::Front> front_;  // null: no window
};

Guard::Guard(Store& store, GuardOptions options)
    : impl_(std::make_unique<Impl>(store, std::move(options))) {}
Guard::~Guard() = default;
Guard::Guard(Guard&&) noexcept = default;
Guard& Guard::operator=(Guard&&) noexcept = default;

Result<Outcome> Guard::run(BytesView key, const Fingerprint& fingerprint, const Handler& handler) {
  return impl_->run(key, fingerprint, handler);
}

}  // namespace semel
