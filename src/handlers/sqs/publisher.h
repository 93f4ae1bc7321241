// SqsPublisher: the calls that wait for the answer of SQS or SNS, and the thread that makes the
// requests.
//
// A message goes at once where no request is under way; else it waits for one to end, or for as
// many others as fill a request. Several requests are under way at a time. Messages of one group of
// a FIFO queue or topic are in one request at a time, in their order.
#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <semel/environment.h>
#include <semel/handler.h>

#include "clients/sqs/client.h"
#include "core/sqs_publish_spec.h"
#include "handlers/in_flight/in_flight_calls.h"
#include "handlers/sqs/answers.h"
#include "handlers/sqs/entries.h"
#include "handlers/sqs/service.h"

namespace semel::sqs {

class SqsPublisher final {
 public:
  SqsPublisher(core::SqsSendSpec spec, Service service, Environment& environment);
  ~SqsPublisher();
  SqsPublisher(const SqsPublisher&) = delete;
  SqsPublisher& operator=(const SqsPublisher&) = delete;

  void begin(const Message& message, const Attempt& attempt, Completion completion);

 private:
  using TimePoint = std::chrono::steady_clock::time_point;
  using Ticket = handlers::InFlightCall::Ticket;
  struct Call final : handlers::InFlightCall {
    using InFlightCall::InFlightCall;
    Entry entry;
    bool sent = false;
    bool doubt = false;  // a request without an answer may have brought it there
    bool alone = false;  // a batch that it was in was refused for what was in it
  };
  // One request under way.
  struct Batch {
    std::vector<Ticket> tickets;  // in the order of its entries
    std::vector<std::string> groups;
    TimePoint deadline{};
    TimePoint sent_at{};  // the first time
    bool again = false;
  };

  TimePoint now() const { return environment_.clock->now(); }

  // The thread's, in publisher.cc.
  void work() noexcept;
  bool take_news();
  void take_late();
  void give_up(Ticket ticket, bool stopped);
  std::chrono::milliseconds patience() const;

  // The thread's, in serve.cc.
  void send_waiting();
  bool worth_a_request() const;
  bool fits(const Call& call, const Batch& batch, std::size_t bytes) const;
  Batch take_batch();
  void send(Batch batch);
  void answered(const Batch& batch, const Client::Answer& answer);
  bool may_repeat(const Batch& batch, const Client::Answer& answer);
  bool in_doubt(Ticket ticket) const;
  void take_answer(const Batch& batch, const std::string& body);
  void take_refusal(const Batch& batch, const Client::Answer& answer);
  void send_alone(const Batch& batch);
  void say_farewell();

  const core::SqsSendSpec spec_;
  const Service service_;
  Environment& environment_;
  Client client_;  // the thread's, but for wake()
  handlers::InFlightCalls<Call> calls_;

  // The thread's.
  std::deque<Ticket> waiting_;    // of calls that are not sent; some of them may have ended
  std::size_t requests_ = 0;      // under way
  std::set<std::string> groups_;  // that have a message in one of them
  std::string last_trouble_;      // since a message was last taken; may be empty
  std::size_t tries_ = 0;         // in vain, since a message was last taken
  TimePoint not_before_{};        // of the next request

  std::thread thread_;
};

// The handler of either service. R255 where the spec's group can be none.
Result<AsyncHandler> make_publisher(core::SqsSendSpec spec, Service service,
                                    Environment& environment);

}  // namespace semel::sqs
