// KafkaPublisher: the calls that wait for their reports, and the thread that handles the reports.
//
// A record that was given to librdkafka cannot be withdrawn: a call that is stopped is answered,
// and its record may still be published, under the id that the next attempt has too.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include <semel/environment.h>
#include <semel/handler.h>
#include <semel/result.h>

#include "core/kafka_publish_spec.h"
#include "handlers/in_flight/in_flight_calls.h"
#include "handlers/kafka/producer.h"
#include "system/mutex.h"

namespace semel::kafka {

class KafkaPublisher final : private Producer::Watcher {
 public:
  KafkaPublisher(core::KafkaPublishSpec spec, Environment& environment);
  ~KafkaPublisher() override;

  // Makes the first producer, which fails if the spec is refused.
  Result<void> open();
  void begin(const Message& message, const Attempt& attempt, Completion completion)
      SEMEL_EXCLUDES(mutex_);

 private:
  using Ticket = handlers::InFlightCall::Ticket;
  struct Call final : handlers::InFlightCall {
    using InFlightCall::InFlightCall;
    OutgoingRecord record;
    bool alone = false;  // it was sent in a batch of its own
  };

  void wake() noexcept SEMEL_EXCLUDES(mutex_);
  // Called on the thread.
  void work() noexcept SEMEL_EXCLUDES(mutex_);
  void poll() SEMEL_EXCLUDES(mutex_);
  void take_stopped() SEMEL_EXCLUDES(mutex_);
  void retire() SEMEL_EXCLUDES(mutex_);
  void say_farewell() SEMEL_EXCLUDES(mutex_);
  void on_report(std::uint64_t ticket, Report report) override;
  void on_error(int code, std::string_view said) override;

  using Usable = Result<std::shared_ptr<Producer>>;
  // The existing producer, or a new one, which takes long: librdkafka reads certificates and starts
  // threads for it. If several calls make one at the same time, one is kept.
  Usable usable(bool alone) SEMEL_EXCLUDES(mutex_);
  // A message that librdkafka refuses is reported as if it had been sent and had failed.
  std::optional<Report> produce(const Usable& producer, Ticket ticket, const Call& call)
      SEMEL_REQUIRES(mutex_);
  std::optional<Report> send_alone(Ticket ticket) SEMEL_EXCLUDES(mutex_);
  int cause_of(int code) const SEMEL_REQUIRES(mutex_);

  ReportContext context() SEMEL_EXCLUDES(mutex_);

  const core::KafkaPublishSpec spec_;
  Environment& environment_;
  // The lock is held while a call is sent and added, so that it is in the table before its report.
  handlers::InFlightCalls<Call> calls_;

  system::Mutex mutex_;
  system::CondVar changed_;
  // The next call replaces one that cannot send any more.
  std::shared_ptr<Producer> producer_ SEMEL_GUARDED_BY(mutex_);
  std::shared_ptr<Producer> alone_ SEMEL_GUARDED_BY(mutex_);
  std::string said_ SEMEL_GUARDED_BY(mutex_);  // the last error on the way
  // set while a producer that has ended gives up its records
  std::optional<int> ended_by_ SEMEL_GUARDED_BY(mutex_);

  std::thread thread_;
};

}  // namespace semel::kafka
