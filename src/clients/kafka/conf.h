// librdkafka's settings, put together; what its clients share.
#pragma once

#include <string>

#include <semel/result.h>

#include "clients/kafka/handles.h"

namespace semel::kafka {

// What each client has unless its config says otherwise.
Result<ConfPtr> usual_conf();

// kRejected (R308) names the property that librdkafka does not know, or whose value it refuses, and
// never a secret.
Result<void> set(rd_kafka_conf_s* conf, const std::string& name, const std::string& value);

// One pair after the other, up to the first that is refused.
template <class Pairs>
Result<void> set_all(rd_kafka_conf_s* conf, const Pairs& pairs) {
  for (const auto& [name, value] : pairs) {
    if (auto done = set(conf, name, value); !done) return done;
  }
  return {};
}

// What librdkafka logs comes as an error too, where it matters. `shown`: it goes to standard error,
// as one wants who has set `debug`.
void set_log(rd_kafka_conf_s* conf, bool shown) noexcept;

}  // namespace semel::kafka
