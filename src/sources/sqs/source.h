// SqsSource: a queue of SQS, polled over HTTPS.
//
// Its thread makes all calls, several at a time: long polls for messages, deletions of recorded
// ones, and renewals that keep open ones hidden from others, however long handlers take.
//
// A deletion follows the record, and is repeated until the service has answered. One that comes too
// late deletes nothing: the message comes again and meets its record.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <semel/environment.h>
#include <semel/spi/source.h>

#include "clients/sqs/client.h"
#include "sources/broker/broker_source.h"
#include "sources/sqs/ledger.h"
#include "sources/sqs/make_sqs_source.h"
#include "sources/sqs/pauses.h"
#include "sources/sqs/requests.h"
#include "system/event_fd.h"
#include "system/mutex.h"

namespace semel::sqs {

class SqsSource final : public broker::BrokerSource {
 public:
  SqsSource(SqsOptions options, Environment& environment);
  ~SqsSource() override { die(); }

  std::vector<SourceFigure> figures() override;

 private:
  // Called on the serving thread.
  void run() SEMEL_EXCLUDES(mutex_) override;
  void look() SEMEL_EXCLUDES(mutex_);
  void take_facts(QueueFacts facts) SEMEL_EXCLUDES(mutex_);
  void poll() SEMEL_EXCLUDES(mutex_);
  void take_messages(const std::string& answer, std::uint64_t changes, bool calm, TimePoint asked)
      SEMEL_EXCLUDES(mutex_);
  void note_receives(std::int64_t receives, const std::string& message) SEMEL_REQUIRES(mutex_);
  void remove(bool all) SEMEL_EXCLUDES(mutex_);
  void removed(std::vector<std::string> receipts, const Result<std::string>& answer)
      SEMEL_EXCLUDES(mutex_);
  void not_removed(std::vector<std::string> receipts, const Error& error) SEMEL_EXCLUDES(mutex_);
  void note_expired(const std::string& said) SEMEL_REQUIRES(mutex_);
  void step_aside() SEMEL_EXCLUDES(mutex_);
  void hand_back() SEMEL_EXCLUDES(mutex_);
  // Makes messages visible to others now; if that fails, they become visible after their time.
  // `under_way` counts the call, and outlives it.
  void show_again(std::vector<std::string> receipts, std::size_t& under_way);
  void renew() SEMEL_EXCLUDES(mutex_);
  void renewed(const std::vector<Ledger::Renewal>& batch, TimePoint begun,
               const Result<std::string>& answer) SEMEL_EXCLUDES(mutex_);
  void note_success(CallKind kind) SEMEL_EXCLUDES(mutex_);
  void note_failure(CallKind kind, Error error) SEMEL_EXCLUDES(mutex_);
  bool may_call(CallKind kind) const { return pauses_.may_call(kind, now()); }
  std::chrono::milliseconds patience() SEMEL_EXCLUDES(mutex_);
  void leave() SEMEL_EXCLUDES(mutex_);
  void give_back(TimePoint by) SEMEL_EXCLUDES(mutex_);

  // How many more messages may be received; zero while that is not worth a request.
  std::size_t remaining() const SEMEL_REQUIRES(mutex_);
  void wake() noexcept override { client_.wake(); }
  // Each of its calls ends by the deadline.
  void interrupt() noexcept SEMEL_REQUIRES(mutex_) override {}
  bool hand_out(std::vector<Arrival>& into) SEMEL_REQUIRES(mutex_) override;
  bool has_waiting() const noexcept SEMEL_REQUIRES(mutex_) override {
    return ledger_.has_waiting();
  }
  std::size_t open() const noexcept SEMEL_REQUIRES(mutex_) override { return ledger_.open(); }
  bool settle_one(const Settlement& settlement) SEMEL_REQUIRES(mutex_) override;
  std::size_t untold() const noexcept SEMEL_REQUIRES(mutex_) override { return ledger_.deletes(); }
  // Includes deliveries settled after an error had ended the run.
  bool is_all_told() const noexcept SEMEL_REQUIRES(mutex_) override {
    return ledger_.deletes() + removing_ == 0;
  }
  // Unlike stopping(): finished messages are also deleted after an error that ends the run.
  bool is_stopped() SEMEL_EXCLUDES(mutex_);
  void warn(const char* code, const std::string& text) SEMEL_REQUIRES(mutex_);

  const SqsOptions options_;
  const core::SqsSpec& spec_;
  Client client_;  // the serving thread's, except wake()

  // Used by the serving thread only.
  bool looking_ = false;
  bool looked_ = false;
  std::size_t polls_ = 0;         // in progress
  std::size_t wanted_polls_ = 1;  // grows while each returns a full batch
  std::size_t asked_ = 0;         // messages that these may return
  TimePoint polls_end_{};         // when the last of them is answered, at the latest
  std::size_t removals_ = 0;      // in progress
  std::size_t removing_ = 0;      // receipts in them
  std::optional<TimePoint> renewal_due_;
  std::size_t renewals_ = 0;  // in progress
  Pauses pauses_;
  std::set<CallKind> told_failing_;
  CallKind away_for_ = CallKind::kLook;  // the kind whose failures `away_` reports
  std::size_t not_there_ = 0;
  std::chrono::seconds told_skew_{0};
  std::optional<core::SqsRedrive> redrive_;
  bool told_of_last_ = false;
  bool told_of_expired_ = false;
  bool ended_ = false;  // by an error: nothing is received any more
  bool leaving_ = false;

  Ledger ledger_ SEMEL_GUARDED_BY(mutex_);
  std::int64_t expired_ SEMEL_GUARDED_BY(mutex_) = 0;
  std::int64_t throttled_ SEMEL_GUARDED_BY(mutex_) = 0;
};

}  // namespace semel::sqs
