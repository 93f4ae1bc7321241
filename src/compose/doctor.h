// Doctor: compares the live store and the brokers with the config's promise.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <semel/result.h>
#include <semel/spi/store.h>

#include "base/json.h"
#include "compose/live.h"
#include "config/config.h"

namespace semel::compose {

struct Finding {
  std::string code;
  bool fine = true;
  std::string text;
  std::string fix;
  bool note = false;  // neither good nor bad: unknown, or accepted

  // "ok", "fail", "note".
  const char* grade() const noexcept;
};
Finding failed(std::string code, const Error& error);
// Names the consumer first.
Finding failed_for(std::string_view consumer, std::string code, const Error& error);

struct DoctorReport {
  std::string where;  // "sqlite ./semel.db"
  std::vector<Finding> findings;
  Live live;

  bool good() const noexcept;
};

// Asks the store and each broker. Claims a key in a transaction that is rolled back; writes nothing
// else.
Result<DoctorReport> examine(Store& store, const config::Config& config);

json::Writer doctor_json(const config::Config& config, const DoctorReport& report);

}  // namespace semel::compose
