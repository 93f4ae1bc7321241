#include "handlers/kafka/producer.h"

#include <librdkafka/rdkafka.h>

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include "clients/kafka/conf.h"

namespace semel::kafka {

using std::chrono::milliseconds;

namespace {

using Setting = std::pair<const char*, const char*>;

// A config may override these.
constexpr std::array<Setting, 2> kUsual = {{
    // The partitioner of the Java client: a key gets the partition that other clients choose.
    {"partitioner", "murmur2_random"},
    // As many messages arrive at a time as are in flight, and each waits for its report.
    {"linger.ms", "2"},
}};

constexpr std::array<Setting, 3> kFixed = {{
    {"enable.idempotence", "true"},
    {"acks", "all"},
    {"delivery.report.only.error", "false"},
}};

Report::Kept kept_of(const rd_kafka_message_t& message) {
  switch (rd_kafka_message_status(&message)) {
    case RD_KAFKA_MSG_STATUS_PERSISTED:
      return Report::Kept::kYes;
    case RD_KAFKA_MSG_STATUS_POSSIBLY_PERSISTED:
      return Report::Kept::kPerhaps;
    case RD_KAFKA_MSG_STATUS_NOT_PERSISTED:
      break;
  }
  return Report::Kept::kNo;
}

rd_kafka_headers_t* headers_of(const Headers& headers) {
  rd_kafka_headers_t* made = rd_kafka_headers_new(headers.size());
  for (const Header& header : headers) {
    rd_kafka_header_add(made, header.name.data(), static_cast<ssize_t>(header.name.size()),
                        header.value.data(), static_cast<ssize_t>(header.value.size()));
  }
  return made;
}

// librdkafka takes void pointers, but does not write to them.
void* plain(const char* data) noexcept { return const_cast<char*>(data); }

}  // namespace

struct Producer::Callbacks {
  static void report(rd_kafka_t*, const rd_kafka_message_t* message, void* opaque) {
    auto& producer = *static_cast<Producer*>(opaque);
    Report report;
    report.code = message->err;
    report.kept = kept_of(*message);
    report.topic = rd_kafka_topic_name(message->rkt);
    report.partition = message->partition;
    report.offset = message->offset;
    producer.watcher_.on_report(reinterpret_cast<std::uintptr_t>(message->_private),
                                std::move(report));
  }
  static void error(rd_kafka_t*, int code, const char* reason, void* opaque) {
    static_cast<Producer*>(opaque)->watcher_.on_error(code, reason == nullptr ? "" : reason);
  }
};

Result<ConfPtr> producer_settings(const core::KafkaPublishSpec& spec, bool alone) {
  auto conf = usual_conf();
  if (!conf) return conf;
  const std::array<std::pair<const char*, std::string>, 2> own = {
      {{"bootstrap.servers", spec.brokers},
       {"message.timeout.ms", std::to_string(std::max<std::int64_t>(spec.timeout.count(), 1))}}};
  auto done = set_all(conf->get(), kUsual);
  if (done) done = set_all(conf->get(), spec.properties);
  if (done) done = set_all(conf->get(), kFixed);
  if (done) done = set_all(conf->get(), own);
  if (done && alone) done = set(conf->get(), "batch.num.messages", "1");
  if (!done) return failure(std::move(done.error()));
  set_log(conf->get(), spec.properties.contains("debug"));
  return conf;
}

Result<std::unique_ptr<Producer>> Producer::create(const core::KafkaPublishSpec& spec,
                                                   Watcher& watcher, bool alone) {
  auto conf = producer_settings(spec, alone);
  if (!conf) return failure(std::move(conf.error()));
  std::unique_ptr<Producer> producer(new Producer(watcher));
  rd_kafka_conf_set_opaque(conf->get(), producer.get());
  rd_kafka_conf_set_dr_msg_cb(conf->get(), &Callbacks::report);
  rd_kafka_conf_set_error_cb(conf->get(), &Callbacks::error);
  std::array<char, 512> why{};
  producer->handle_ = rd_kafka_new(RD_KAFKA_PRODUCER, conf->get(), why.data(), why.size());
  if (producer->handle_ == nullptr) {
    return failure({ErrorKind::kRejected, "R308",
                    std::string("librdkafka cannot begin: ") + why.data(),
                    "mend what it names in kafka.properties"});
  }
  // The handle owns the configuration now.
  [[maybe_unused]] auto* const taken = conf->release();
  producer->reports_.reset(rd_kafka_queue_get_main(producer->handle_));
  return producer;
}

Producer::~Producer() {
  reports_.reset();
  if (handle_ == nullptr) return;
  rd_kafka_purge(
      handle_, RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT | RD_KAFKA_PURGE_F_NON_BLOCKING);
  rd_kafka_destroy(handle_);
}

std::optional<int> Producer::produce(std::uint64_t call, const OutgoingRecord& record,
                                     BytesView payload) {
  rd_kafka_headers_t* const headers = headers_of(record.headers);
  std::array<rd_kafka_vu_t, 6> parts{};
  parts[0].vtype = RD_KAFKA_VTYPE_TOPIC;
  parts[0].u.cstr = record.topic.c_str();
  parts[1].vtype = RD_KAFKA_VTYPE_MSGFLAGS;
  parts[1].u.i = RD_KAFKA_MSG_F_COPY;
  parts[2].vtype = RD_KAFKA_VTYPE_OPAQUE;
  parts[2].u.ptr = std::bit_cast<void*>(static_cast<std::uintptr_t>(call));
  parts[3].vtype = RD_KAFKA_VTYPE_VALUE;
  // Never null, since a null value would make a record without a value.
  parts[3].u.mem = {plain(payload.empty() ? "" : payload.data()), payload.size()};
  parts[4].vtype = RD_KAFKA_VTYPE_HEADERS;
  parts[4].u.headers = headers;
  if (record.key) {
    parts[5].vtype = RD_KAFKA_VTYPE_KEY;
    parts[5].u.mem = {plain(record.key->data()), record.key->size()};
  }
  const ErrorPtr refused(
      rd_kafka_produceva(handle_, parts.data(), record.key ? parts.size() : parts.size() - 1));
  if (!refused) return std::nullopt;
  rd_kafka_headers_destroy(headers);
  return rd_kafka_error_code(refused.get());
}

void Producer::poll(milliseconds patience) {
  rd_kafka_poll(handle_, static_cast<int>(patience.count()));
}

void Producer::wake() noexcept { rd_kafka_queue_yield(reports_.get()); }

void Producer::flush(milliseconds patience) {
  rd_kafka_flush(handle_, static_cast<int>(patience.count()));
}

void Producer::give_up() {
  constexpr milliseconds kToTellAll{1'000};
  rd_kafka_purge(handle_, RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT);
  flush(kToTellAll);
}

std::optional<Producer::End> Producer::ended() const {
  std::array<char, 512> why{};
  const auto code = rd_kafka_fatal_error(handle_, why.data(), why.size());
  if (code == RD_KAFKA_RESP_ERR_NO_ERROR) return std::nullopt;
  return End{code, why.data()};
}

}  // namespace semel::kafka
