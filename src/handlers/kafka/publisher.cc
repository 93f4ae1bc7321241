#include "handlers/kafka/publisher.h"

#include <fmt/format.h>
#include <librdkafka/rdkafka.h>

#include <algorithm>
#include <exception>
#include <utility>

#include "clients/kafka/errors.h"
#include "core/thrown.h"
#include "system/block_signals.h"

namespace semel::kafka {

using std::chrono::milliseconds;

namespace {

// The thread is woken explicitly; this only limits how long a poll lasts.
constexpr milliseconds kLongestPoll{1'000};
// Used while another producer must be polled too.
constexpr milliseconds kShortPoll{20};
// How long the handler waits, when it ends, for outstanding reports.
constexpr milliseconds kFarewell{2'000};

}  // namespace

KafkaPublisher::KafkaPublisher(core::KafkaPublishSpec spec, Environment& environment)
    : spec_(std::move(spec)),
      environment_(environment),
      calls_([this] { wake(); }, handlers::kPublisherPatience) {}

Result<void> KafkaPublisher::open() {
  if (auto made = usable(false); !made) return failure(std::move(made.error()));
  thread_ = std::thread([this] { work(); });
  return {};
}

KafkaPublisher::~KafkaPublisher() {
  if (!thread_.joinable()) return;
  calls_.close();
  wake();
  thread_.join();
}

KafkaPublisher::Usable KafkaPublisher::usable(bool alone) {
  {
    const system::MutexLock lock(mutex_);
    if (const auto& there = alone ? alone_ : producer_) return there;
  }
  auto made = Producer::create(spec_, *this, alone);
  if (!made) return failure(std::move(made.error()));
  // If another thread was faster, the spare producer is destroyed after the lock is released.
  std::shared_ptr<Producer> spare = *std::move(made);
  const system::MutexLock lock(mutex_);
  auto& place = alone ? alone_ : producer_;
  if (!place) place = std::move(spare);
  changed_.notify_all();
  return place;
}

void KafkaPublisher::begin(const Message& message, const Attempt& attempt, Completion completion) {
  auto call =
      std::make_unique<Call>(message, attempt, std::move(completion), environment_.clock->now());
  try {
    call->record.topic = spec_.topic_of ? spec_.topic_of(message) : spec_.topic;
    call->record.key = spec_.key_of ? spec_.key_of(message) : core::kafka_key_of(message);
    call->record.headers =
        spec_.headers_of ? spec_.headers_of(message) : core::kafka_headers_of(message);
  } catch (const std::exception& thrown) {
    return calls_.answer(std::move(call), core::answer_to(thrown));
  }
  calls_.number(*call);
  if (!core::is_kafka_topic(call->record.topic)) {
    Judged judged = judge_no_topic(call->record.topic);
    return calls_.answer(std::move(call), std::move(judged));
  }
  const Usable producer = usable(false);
  std::optional<Report> refused;
  bool stopped = false;
  {
    const system::MutexLock lock(mutex_);
    refused = produce(producer, call->ticket(), *call);
    if (!refused) stopped = calls_.add(std::move(call));
  }
  if (refused) calls_.answer(std::move(call), judge(*refused, context()));
  if (stopped) wake();
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

void KafkaPublisher::wake() noexcept {
  {
    const system::MutexLock lock(mutex_);
    if (producer_) producer_->wake();
  }
  changed_.notify_all();
}

void KafkaPublisher::work() noexcept {
  system::block_signals();
  for (;;) {
    {
      const system::MutexLock lock(mutex_);
      changed_.wait(mutex_, [this]() SEMEL_REQUIRES(mutex_) {
        return producer_ || alone_ || calls_.has_news();
      });
    }
    if (calls_.closing()) break;
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
  for (const Ticket ticket : calls_.take_news().stopped) {
    auto call = calls_.take(ticket);
    if (!call) continue;  // the call has already ended
    Judged judged = judge_stopped(call->took(environment_.clock->now()));
    calls_.answer(std::move(call), std::move(judged));
  }
}

// Retires a producer that can no longer send, and the one for single records once it has none left.
void KafkaPublisher::retire() {
  std::shared_ptr<Producer> ended;
  std::shared_ptr<Producer> idle;
  {
    const system::MutexLock lock(mutex_);
    const auto waits_alone = [this] {
      return std::ranges::any_of(calls_.all(), [](const Call* call) { return call->alone; });
    };
    if (alone_ && !waits_alone()) idle = std::move(alone_);
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
  {
    const system::MutexLock lock(mutex_);
    usual = producer_;
    alone = alone_;
  }
  const bool open = !calls_.empty();
  if (open && usual) usual->flush(kFarewell);
  if (open && alone) alone->flush(kFarewell);
  {
    const system::MutexLock lock(mutex_);
    producer_.reset();
    alone_.reset();
  }
  calls_.drop_all();
}

void KafkaPublisher::on_report(std::uint64_t ticket, Report report) {
  bool again = false;
  {
    const system::MutexLock lock(mutex_);
    Call* const call = calls_.find(ticket);
    if (call == nullptr) return;  // the call was stopped
    report.code = cause_of(report.code);
    if (report.code == RD_KAFKA_RESP_ERR_NO_ERROR) said_.clear();
    // librdkafka's own repeat may be what was refused: an earlier try may have been kept, and the
    // producer for single records would add another copy.
    again = speaks_for_a_batch(report.code) && report.kept == Report::Kept::kNo &&
            !std::exchange(call->alone, true);
  }
  if (again) {
    auto refused = send_alone(ticket);
    if (!refused) return;
    report = *std::move(refused);
  }
  calls_.end(ticket, judge(report, context()));
}

// The call still exists: only this thread removes calls.
std::optional<Report> KafkaPublisher::send_alone(Ticket ticket) {
  const Usable producer = usable(true);
  const system::MutexLock lock(mutex_);
  return produce(producer, ticket, *calls_.find(ticket));
}

void KafkaPublisher::on_error(int code, std::string_view said) {
  // These errors add nothing to earlier ones.
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

}  // namespace semel::kafka
