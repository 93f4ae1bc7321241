// Builds the settings of librdkafka that all its clients share.
#pragma once

#include <string>

#include <semel/result.h>

#include "clients/kafka/handles.h"

namespace semel::kafka {

// The settings of each client, unless its config overrides them.
Result<ConfPtr> usual_conf();

// kRejected (R308) names the property that librdkafka does not know or whose value it refuses, and
// never shows a secret.
Result<void> set(rd_kafka_conf_s* conf, const std::string& name, const std::string& value);

// Sets the pairs in order, up to the first that is refused.
template <class Pairs>
Result<void> set_all(rd_kafka_conf_s* conf, const Pairs& pairs) {
  for (const auto& [name, value] : pairs) {
    if (auto done = set(conf, name, value); !done) return done;
  }
  return {};
}

// librdkafka also reports as errors what matters in its log, so the log is dropped. `shown`: write
// it to standard error, for users who set `debug`.
void set_log(rd_kafka_conf_s* conf, bool shown) noexcept;

}  // namespace semel::kafka
