// Status: the consumers of a store and its contents, on one screen: the same in the commands and in
// the API.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <semel/admin/gates.h>
#include <semel/admin/records.h>
#include <semel/error.h>
#include <semel/spi/source.h>

#include "base/json.h"
#include "config/config.h"
#include "operate/views.h"

namespace semel::operate {

// The name under which a front window reports, among the sources of a consumer.
inline constexpr std::string_view kWindowSource = "front";

// One source of a consumer in one process, or its window.
struct SourceView {
  std::int64_t pid = 0;
  std::string source;
  std::vector<SourceFigure> figures;
};
// Writes an array, as the value of a name.
void add_sources(json::Writer& writer, const std::vector<SourceView>& views);

// The report of one process about its own work on a consumer.
struct HealthView {
  struct Trouble {
    std::string where;  // "store", or the name of a source
    StoreTime since;
    std::string text;
  };
  std::int64_t pid = 0;
  std::optional<StoreTime> last_end;  // when it last ended a delivery
  std::vector<Trouble> troubles;      // the present ones
};

// How many messages wait at the source of a consumer that no process runs.
struct WaitingAtSource {
  std::int64_t messages = 0;
  std::optional<Error> error;  // nothing answered
};

inline constexpr std::string_view kDown = "down", kFailing = "failing", kUnknown = "unknown",
                                  kRunning = "running", kRemoved = "removed";

struct ConsumerStatus {
  std::string name;
  std::string source;  // this and the next two are empty without the consumer's config
  std::string strategy;
  std::string guarantee;
  std::string state;
  StoreStats::Consumer counts;
  std::optional<ShutGate> gate;
  std::vector<SourceView> sources;  // of the processes that run it and answered
  std::vector<SourceView> windows;  // likewise
  std::vector<HealthView> health;   // likewise
  std::optional<WaitingAtSource> lag;
  std::optional<std::chrono::milliseconds> oldest_age;  // of the message that waits longest
  std::optional<StoreTime> last;                        // when something last happened to it

  bool bad() const { return state == kDown || state == kFailing; }
  // Messages that the store knows of and those at the source. A held message may have a record too,
  // one that is consuming and not held is still at its source: each counts once.
  std::size_t waiting() const noexcept;
};

struct Status {
  std::string where;  // the store, as people name it: "sqlite ./semel.db"
  int schema_version = 0;
  std::uint64_t epoch = 0;
  std::size_t bytes = 0;
  std::size_t completed = 0;
  std::vector<std::int64_t> running_pids;
  std::vector<ConsumerStatus> consumers;
};

// Without consumers.
Status status_of_store(const StoreStats& stats, std::string where);

// The source's name on the screen: "kafka", "file messages.jsonl".
std::string source_name(const config::SourceConfig& source);

// Fills the derived fields: the state, the age of waiting messages, the last change. `known`: the
// store knows the consumer. `now`: by this machine's clock.
void conclude(ConsumerStatus& row, bool known, StoreTime now);

// A consumer of the store that is not in the config.
ConsumerStatus removed_consumer(const StoreStats::Consumer& counts, StoreTime now);

json::Writer status_document(const Status& status, const TimeText& time);

}  // namespace semel::operate
