// From what librdkafka reports of a record to the message's verdict, and what it says about the
// cluster.
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

// What else is known when a report is judged.
struct ReportContext {
  std::chrono::milliseconds timeout{0};  // that the record had
  // Topics are the messages' own, so what is wrong with one says nothing of the others.
  bool many_topics = false;
  std::string said;  // what last went wrong on the way to the brokers; may be empty
};

using core::Judged;

Judged judge(const Report& report, const ReportContext& context);

// The code speaks for a whole batch of records, of which one may be to blame: each is told apart
// when it is sent alone.
bool speaks_for_a_batch(int code) noexcept;

// Whether there is more to say of it than what librdkafka does.
bool has_word(int code) noexcept;

// The attempt was stopped, and the record is still on its way.
Judged judge_stopped(std::chrono::milliseconds after);
// The topic that topic_of named is none.
Judged judge_no_topic(const std::string& topic);

}  // namespace semel::kafka
