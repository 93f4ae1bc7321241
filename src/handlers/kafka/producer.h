// Producer: an idempotent librdkafka producer, which passes its callbacks to a watcher.
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
    // For the call number given to `produce`.
    virtual void on_report(std::uint64_t call, Report report) = 0;
    // Errors on the way to the brokers.
    virtual void on_error(int code, std::string_view said) = 0;
  };

  // With `alone`, each record is a batch of its own. `watcher` outlives it.
  static Result<std::unique_ptr<Producer>> create(const core::KafkaPublishSpec& spec,
                                                  Watcher& watcher, bool alone);
  // Records without a report by then never get one.
  ~Producer();
  Producer(const Producer&) = delete;
  Producer& operator=(const Producer&) = delete;

  // Copies everything. Returns a code where librdkafka refuses it: then there is no report.
  std::optional<int> produce(std::uint64_t call, const OutgoingRecord& record, BytesView payload);

  void poll(std::chrono::milliseconds patience);
  // Ends a poll; thread-safe.
  void wake() noexcept;
  // Waits until everything was reported, at most for `patience`.
  void flush(std::chrono::milliseconds patience);
  // Everything that is left is reported now, as given up.
  void give_up();
  // Why it can never send again; nullopt where it can.
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

// The settings of a producer: ours, overridden by those of the config, except those that the
// promise depends on.
Result<ConfPtr> producer_settings(const core::KafkaPublishSpec& spec, bool alone);

}  // namespace semel::kafka
