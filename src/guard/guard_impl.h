// Guard::Impl: shared by all calls of a guard, with the strategies' machinery below them.
#pragma once

#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <semel/environment.h>
#include <semel/guard.h>
#include <semel/observer.h>
#include <semel/reason.h>
#include <semel/spi/unit_of_work.h>

#include "strategies/decision.h"
#include "strategies/front.h"
#include "strategies/lease_renewer.h"
#include "strategies/pipeline_stats.h"
#include "strategies/strategies.h"
#include "system/mutex.h"

namespace semel {

namespace guard {

Error rejected(std::string message, std::string hint);

// Outcomes of a call's deliveries, each at its own index.
class Answers final : public strategies::OutcomeSink {
 public:
  explicit Answers(std::span<const core::TrackedDelivery> batch)
      : batch_(batch), outcomes_(batch.size()) {}
  void ended(core::TrackedDelivery& delivery, Outcome outcome) noexcept override {
    if (outcome.kind == Outcome::Kind::kBusy && outcome.error.empty()) {
      outcome.error = "another holder has the key, or its retry is not due";
    }
    outcomes_[index_of(delivery)] = std::move(outcome);
  }
  std::size_t index_of(const core::TrackedDelivery& delivery) const noexcept {
    return static_cast<std::size_t>(&delivery - batch_.data());
  }
  std::vector<Outcome>& outcomes() noexcept { return outcomes_; }

 private:
  const std::span<const core::TrackedDelivery> batch_;
  std::vector<Outcome> outcomes_;
};

// Runs work so that its exception undoes its record, and can be rethrown afterwards.
class Caught {
 public:
  // `in_doubt`: work that threw may have had its effect.
  explicit Caught(bool in_doubt) : in_doubt_(in_doubt) {}
  template <class Work>
  Verdict operator()(Work&& work) {
    thrown_ = nullptr;
    try {
      return work();
    } catch (const strategies::BatchBroken&) {
      throw;
    } catch (const strategies::StepsOver&) {
      throw;
    } catch (const StatementFailed& thrown) {
      return undone(thrown.what(), reason::sql_reason(thrown.sql_class()));
    } catch (const StatementRefused& thrown) {
      return undone(thrown.what(), reason::sql_reason("refused"));
    } catch (const std::exception& thrown) {
      return undone(thrown.what(), {});
    } catch (...) {
      return undone("the work threw something that is no std::exception", {});
    }
  }
  void rethrow() const {
    if (thrown_) std::rethrow_exception(thrown_);
  }

 private:
  Verdict undone(const char* text, std::string code) {
    thrown_ = std::current_exception();
    Verdict::Retry verdict;
    verdict.reason = text == nullptr ? "" : text;
    verdict.code = std::move(code);
    verdict.counted = false;
    verdict.unknown = in_doubt_;
    return verdict;
  }

  const bool in_doubt_;
  std::exception_ptr thrown_;
};

}  // namespace guard

class Guard::Impl {
 public:
  Impl(Store& store, GuardOptions options);

  Result<Outcome> run(BytesView key, const Fingerprint& fingerprint, const Handler& handler);
  std::vector<Result<Outcome>> run_each(std::span<const BatchMessage> messages,
                                        const EachWork& work);
  Result<Begun> begin(BytesView key, const Fingerprint& fingerprint);
  // Turns renewals off, for the leases of `run` and `run_each`.
  void renew_nothing() noexcept { renews_ = false; }

 private:
  struct Handled {
    std::vector<Result<Outcome>> answers;            // in the order of the batch
    std::optional<FlushReport::Failed> failed = {};  // the newest statement of the work that failed
  };

  void stand_behind_window();
  void refuse_what_does_not_go() const;
  // kDead for a key that is not allowed: neither the store nor the work has anything to do with it.
  static std::optional<Outcome> refuse_key(BytesView key);
  Message message_of(BytesView key, const Fingerprint& fingerprint) const;

  // Keys must differ, and `work` must catch its exceptions. The deliveries may be moved from.
  Handled handle(std::span<core::TrackedDelivery> batch, const Handler& work);
  Handled handle_known(std::span<core::TrackedDelivery> batch, const Handler& work);
  Handled run_in_unit(std::span<core::TrackedDelivery> batch, const Handler& work);
  Handled run_leased(std::span<core::TrackedDelivery> batch, const PlainHandler& work);
  void tell_window(const Result<Outcome>& answer, BytesView secret, const Message& message);

  // Keys must differ.
  std::vector<Result<Outcome>> run_distinct(std::span<const BatchMessage> messages,
                                            const EachWork& work,
                                            std::span<const std::size_t> which);

  strategies::Context context() const;
  strategies::Context leased_context();
  strategies::LeaseRenewer& renewer();

  Store& store_;
  const GuardOptions options_;
  Environment& environment_;
  const std::shared_ptr<strategies::PipelineStats> stats_;  // of batches
  ConsumerNumber number_{};
  bool renews_ = true;
  system::Mutex mutex_;
  std::unique_ptr<strategies::LeaseRenewer> renewer_ SEMEL_GUARDED_BY(mutex_);
  Observer unobserved_;
  std::unique_ptr<strategies::Front> front_;  // null: no window
};

}  // namespace semel
