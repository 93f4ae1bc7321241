#include "handlers/kafka/publisher.h"

#include <fmt/format.h>
#include <librdkafka/rdkafka.h>
#include <pthread.h>

#include <algorithm>
#include <csignal>
#include <exception>
#include <utility>

#include "clients/kafka/errors.h"
#include "core/thrown.h"

namespace semel::kafka {

using std::chrono::milliseconds;

namespace {

// What wakes the thread wakes it at once; this only bounds a poll.
constexpr milliseconds kLongestPoll{1'000};
// While another producer is to be polled too.
constexpr milliseconds kShortPoll{20};
// For the reports of what is still on its way when the handler ends.
constexpr milliseconds kFarewell{2'000};
// A call that is begun while the cluster is away waits for it by itself, so the gate is tried soon.
constexpr core::Breaker::Options kPatience{1, milliseconds(1'000), milliseconds(10'000)};

}  // namespace

KafkaPublisher::KafkaPublisher(core::KafkaPublishSpec spec, Environment& environment)
    : spec_(std::move(spec)), environment_(environment), breaker_(kPatience) {}

Result<void> KafkaPublisher::open() {
  if (auto made = usable(false); !made) return failure(std::move(made.error()));
  thread_ = std::thread([this] { work(); });
  return {};
}

KafkaPublisher::~KafkaPublisher() {
  if (!thread_.joinable()) return;
  {
    const system::MutexLock lock(mutex_);
    ending_ = true;
    if (producer_) producer_->wake();
  }
  changed_.notify_all();
  thread_.join();
}

KafkaPublisher::Usable KafkaPublisher::usable(bool alone) {
  {
    const system::MutexLock lock(mutex_);
    if (const auto& there = alone ? alone_ : producer_) return there;
  }
  auto made = Producer::create(spec_, *this, alone);
  if (!made) return failure(std::move(made.error()));
  // One that is not needed ends after the lock.
  std::shared_ptr<Producer> spare = *std::move(made);
  const system::MutexLock lock(mutex_);
  auto& place = alone ? alone_ : producer_;
  if (!place) place = std::move(spare);
  changed_.notify_all();
  return place;
}

void KafkaPublisher::begin(const Message& message, const Attempt& attempt, Completion completion) {
  auto call = std::make_unique<Call>(message, attempt, std::move(completion));
  try {
    call->record.topic = spec_.topic_of ? spec_.topic_of(message) : spec_.topic;
    call->record.key = spec_.key_of ? spec_.key_of(message) : core::kafka_key_of(message);
    call->record.headers =
        spec_.headers_of ? spec_.headers_of(message) : core::kafka_headers_of(message);
  } catch (const std::exception& thrown) {
    return call->completion(core::answer_to(thrown));
  }
  call->begun = environment_.clock->now();
  Ticket ticket = 0;
  {
    const system::MutexLock lock(mutex_);
    ticket = breaker_.begin();
  }
  if (!core::is_kafka_topic(call->record.topic)) {
    Judged judged = judge_no_topic(call->record.topic);
    return end(ticket, std::move(call), std::move(judged));
  }
  // Before the thread may answer it: a stop that fires from here on is seen below.
  call->on_stop.emplace(attempt.stop, Stop{this, ticket});
  const Usable producer = usable(false);
  std::optional<Report> refused;
  {
    const system::MutexLock lock(mutex_);
    refused = produce(producer, ticket, *call);
    if (!refused) {
      if (attempt.stop.stop_requested()) stopped_.push_back(ticket);
      calls_.emplace(ticket, std::move(call));
    }
  }
  if (refused) end(ticket, std::move(call), judge(*refused, context()));
}

std::optional<Report> KafkaPublisher::produce(const Usable& producer, Ticket ticket,
                                              const Call& call) {
  Report report;
  report.topic = call.record.topic;
  if (!producer) {
    said_ = producer.error().message;
    report.code = RD_KAFKA_RESP_ERR__FATAL;
    return report;
  }
  const auto code = (*producer)->produce(ticket, call.record, call.message.payload());
  if (!code) return std::nullopt;
  report.code = cause_of(*code);
  return report;
}

void KafkaPublisher::stop(Ticket call) noexcept {
  {
    const system::MutexLock lock(mutex_);
    stopped_.push_back(call);
    if (producer_) producer_->wake();
  }
  changed_.notify_all();
}

void KafkaPublisher::work() noexcept {
  // Signals are for the threads that expect them.
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, nullptr);
  for (;;) {
    {
      const system::MutexLock lock(mutex_);
      changed_.wait(mutex_, [this]() SEMEL_REQUIRES(mutex_) {
        return ending_ || producer_ || alone_ || !stopped_.empty();
      });
      if (ending_) break;
    }
    poll();
    take_stopped();
    retire();
  }
  say_farewell();
}

void KafkaPublisher::poll() {
  std::shared_ptr<Producer> usual;
  std::shared_ptr<Producer> alone;
  {
    const system::MutexLock lock(mutex_);
    usual = producer_;
    alone = alone_;
  }
  if (usual) usual->poll(alone ? kShortPoll : kLongestPoll);
  if (alone) alone->poll(usual ? milliseconds(0) : kShortPoll);
}

void KafkaPublisher::take_stopped() {
  std::vector<std::pair<Ticket, std::unique_ptr<Call>>> stopped;
  {
    const system::MutexLock lock(mutex_);
    for (const Ticket ticket : stopped_) {
      // It may have ended by itself.
      if (auto node = calls_.extract(ticket)) {
        stopped.emplace_back(ticket, std::move(node.mapped()));
      }
    }
    stopped_.clear();
  }
  for (auto& [ticket, call] : stopped) {
    const auto took =
        std::chrono::duration_cast<milliseconds>(environment_.clock->now() - call->begun);
    end(ticket, std::move(call), judge_stopped(took));
  }
}

// A producer that has come to its end, and one for records alone that has none left.
void KafkaPublisher::retire() {
  std::shared_ptr<Producer> ended;
  std::shared_ptr<Producer> idle;
  {
    const system::MutexLock lock(mutex_);
    const bool busy = std::any_of(calls_.begin(), calls_.end(),
                                  [](const auto& entry) { return entry.second->alone; });
    if (alone_ && !busy) idle = std::move(alone_);
    for (auto* producer : {&producer_, &alone_}) {
      if (ended || !*producer) continue;
      if (const auto end = (*producer)->ended()) {
        ended = std::move(*producer);
        ended_by_ = end->code;
        said_ = end->said;
      }
    }
  }
  if (!ended) return;
  ended->give_up();
  ended.reset();
  const system::MutexLock lock(mutex_);
  ended_by_.reset();
}

void KafkaPublisher::say_farewell() {
  std::shared_ptr<Producer> usual;
  std::shared_ptr<Producer> alone;
  bool open = false;
  {
    const system::MutexLock lock(mutex_);
    usual = producer_;
    alone = alone_;
    open = !calls_.empty();
  }
  if (open && usual) usual->flush(kFarewell);
  if (open && alone) alone->flush(kFarewell);
  std::map<Ticket, std::unique_ptr<Call>> left;
  {
    const system::MutexLock lock(mutex_);
    left.swap(calls_);
    producer_.reset();
    alone_.reset();
  }
}

void KafkaPublisher::on_report(std::uint64_t ticket, Report report) {
  bool again = false;
  {
    const system::MutexLock lock(mutex_);
    const auto found = calls_.find(ticket);
    if (found == calls_.end()) return;  // it was stopped
    report.code = cause_of(report.code);
    if (report.code == RD_KAFKA_RESP_ERR_NO_ERROR) said_.clear();
    again = speaks_for_a_batch(report.code) && !std::exchange(found->second->alone, true);
  }
  if (again) {
    auto refused = send_alone(ticket);
    if (!refused) return;
    report = *std::move(refused);
  }
  std::unique_ptr<Call> call;
  {
    const system::MutexLock lock(mutex_);
    call = std::move(calls_.extract(ticket).mapped());
  }
  end(ticket, std::move(call), judge(report, context()));
}

// The call is there: only this thread takes calls out.
std::optional<Report> KafkaPublisher::send_alone(Ticket ticket) {
  const Usable producer = usable(true);
  const system::MutexLock lock(mutex_);
  return produce(producer, ticket, *calls_.at(ticket));
}

void KafkaPublisher::on_error(int code, std::string_view said) {
  // Which say no more than what was said before them.
  if (code == RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN || code == RD_KAFKA_RESP_ERR__FATAL) return;
  const Error error = error_of(code, said, false);
  const system::MutexLock lock(mutex_);
  said_ = is_final(error) ? fmt::format("{}; {}", error.message, error.hint) : error.message;
}

int KafkaPublisher::cause_of(int code) const {
  const bool by_its_end = code == RD_KAFKA_RESP_ERR__FATAL ||
                          code == RD_KAFKA_RESP_ERR__PURGE_QUEUE ||
                          code == RD_KAFKA_RESP_ERR__PURGE_INFLIGHT;
  if (!by_its_end) return code;
  std::optional<int> cause = ended_by_;
  for (const auto& producer : {producer_, alone_}) {
    if (cause || !producer) continue;
    if (const auto end = producer->ended()) cause = end->code;
  }
  return cause && has_word(*cause) ? *cause : RD_KAFKA_RESP_ERR__FATAL;
}

ReportContext KafkaPublisher::context() {
  const system::MutexLock lock(mutex_);
  return {spec_.timeout, spec_.topic_of != nullptr, said_};
}

void KafkaPublisher::end(Ticket ticket, std::unique_ptr<Call> call, Judged judged) {
  call->on_stop.reset();
  core::GateNews news;
  {
    const system::MutexLock lock(mutex_);
    news = core::GateNews::of(breaker_, ticket, judged.broker);
  }
  news.tell(call->attempt.gate, judged.why);
  Completion completion = std::move(call->completion);
  // Message and attempt, which it borrows from, may go with the answer.
  call.reset();
  completion(std::move(judged.verdict));
}

}  // namespace semel::kafka
