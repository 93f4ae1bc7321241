// KafkaPublisher: the calls that wait for their reports, and the thread that brings them.
//
// A record that was given to librdkafka cannot be taken back: a call that is stopped is answered,
// and its record may still be published, under the id that the next try has too.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include <semel/environment.h>
#include <semel/handler.h>
#include <semel/result.h>

#include "core/breaker.h"
#include "core/kafka_publish_spec.h"
#include "handlers/kafka/producer.h"

namespace semel::kafka {

class KafkaPublisher final : private Producer::Watcher {
 public:
  KafkaPublisher(core::KafkaPublishSpec spec, Environment& environment);
  ~KafkaPublisher() override;

  // The first producer, which is refused where the spec is.
  Result<void> open();
  void begin(const Message& message, const Attempt& attempt, Completion completion);

 private:
  using Ticket = core::Breaker::Ticket;
  struct Stop {
    KafkaPublisher* publisher;
    Ticket call;
    void operator()() const noexcept { publisher->stop(call); }
  };
  struct Call {
    Call(const Message& m, const Attempt& a, Completion c)
        : message(m), attempt(a), completion(std::move(c)) {}
    const Message& message;
    const Attempt& attempt;
    Completion completion;
    OutgoingRecord record;
    bool alone = false;  // it was sent in a batch of its own
    std::chrono::steady_clock::time_point begun;
    std::optional<std::stop_callback<Stop>> on_stop;
  };

  void stop(Ticket call) noexcept;
  // The thread's.
  void work() noexcept;
  void poll();
  void take_stopped();
  void retire();
  void say_farewell();
  void on_report(std::uint64_t ticket, Report report) override;
  void on_error(int code, std::string_view said) override;
  void end(Ticket ticket, std::unique_ptr<Call> call, Judged judged);

  // With the lock held. What librdkafka does not take, as the report that there would have been.
  std::optional<Report> produce(std::shared_ptr<Producer>& producer, Ticket ticket,
                                const Call& call);
  Result<void> make(std::shared_ptr<Producer>& producer, bool alone);
  int cause_of(int code) const;

  ReportContext context();

  const core::KafkaPublishSpec spec_;
  Environment& environment_;

  std::mutex mutex_;
  std::condition_variable changed_;
  // Each is made anew by the next call after it came to its end.
  std::shared_ptr<Producer> producer_;
  std::shared_ptr<Producer> alone_;
  std::map<Ticket, std::unique_ptr<Call>> calls_;
  std::vector<Ticket> stopped_;
  core::Breaker breaker_;
  std::string said_;             // what last went wrong on the way
  std::optional<int> ended_by_;  // while a producer that has ended gives up what it has
  bool ending_ = false;

  std::thread thread_;
};

}  // namespace semel::kafka
