// Producer: an idempotent producer of librdkafka, with its callbacks as calls of a watcher.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <semel/message.h>
#include <semel/result.h>

#include "clients/kafka/handles.h"
#include "core/kafka_publish_spec.h"
#include "handlers/kafka/report.h"

struct rd_kafka_s;

namespace semel::kafka {

struct OutgoingRecord {
  std::string topic;
  std::optional<Bytes> key;
  Headers headers;
};

// One thread polls it; any may produce.
class Producer {
 public:
  // Called from `poll` and `flush`, on their thread.
  class Watcher {
   public:
    virtual ~Watcher() = default;
    // Of the call that `produce` was given.
    virtual void on_report(std::uint64_t call, Report report) = 0;
    // On the way to the brokers.
    virtual void on_error(int code, std::string_view said) = 0;
  };

  // Each record of `alone` is a batch of its own. `watcher` outlives it.
  static Result<std::unique_ptr<Producer>> create(const core::KafkaPublishSpec& spec,
                                                  Watcher& watcher, bool alone);
  // What has no report by then never has one.
  ~Producer();
  Producer(const Producer&) = delete;
  Producer& operator=(const Producer&) = delete;

  // Copies all of it. A code, where librdkafka does not take it: then there is no report.
  std::optional<int> produce(std::uint64_t call, const OutgoingRecord& record, BytesView payload);

  void poll(std::chrono::milliseconds patience);
  // Ends a poll; from any thread.
  void wake() noexcept;
  // Until all was reported, or for `patience`.
  void flush(std::chrono::milliseconds patience);
  // Everything that is left is reported now, as given up.
  void give_up();
  // Why it can do nothing more, ever; nothing where it can.
  struct End {
    int code = 0;
    std::string said;
  };
  std::optional<End> ended() const;

 private:
  struct Callbacks;
  explicit Producer(Watcher& watcher) : watcher_(watcher) {}

  Watcher& watcher_;
  rd_kafka_s* handle_ = nullptr;
  QueuePtr reports_;
};

// The settings of a producer: ours, and over them those of the config, but for what the promise
// hangs on.
Result<ConfPtr> producer_settings(const core::KafkaPublishSpec& spec, bool alone);

}  // namespace semel::kafka
