// Maps librdkafka's report of a record to the message's verdict, and to news about the cluster.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "core/judged.h"

namespace semel::kafka {

struct Report {
  enum class Kept {
    kNo,
    kPerhaps,  // it was sent, and no answer came
    kYes,
  };

  int code = 0;  // an rd_kafka_resp_err_t
  Kept kept = Kept::kNo;
  std::string topic;
  std::int32_t partition = -1;
  std::int64_t offset = -1;
};

// The context in which a report is judged.
struct ReportContext {
  std::chrono::milliseconds timeout{0};  // of the record
  // Messages choose their topics, so a fault of one topic says nothing of the others.
  bool many_topics = false;
  std::string said;  // the last error on the way to the brokers; may be empty
};

using core::Judged;

Judged judge(const Report& report, const ReportContext& context);

// The code applies to a whole batch of records, of which one may be at fault: sending each alone
// shows which.
bool speaks_for_a_batch(int code) noexcept;

// Whether our own text says more than librdkafka's.
bool has_word(int code) noexcept;

// The attempt was stopped, and the record is still in transit.
Judged judge_stopped(std::chrono::milliseconds after);
// topic_of returned an invalid topic name.
Judged judge_no_topic(const std::string& topic);

}  // namespace semel::kafka
