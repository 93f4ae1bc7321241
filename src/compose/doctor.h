// Doctor: the live store and the brokers, against what the config promises.
#pragma once

#include <string>
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
  bool note = false;  // neither fine nor bad: not known, or accepted

  // "ok", "fail", "note".
  const char* grade() const noexcept;
};

struct DoctorReport {
  std::string where;  // "sqlite ./semel.db"
  std::vector<Finding> findings;
  Live live;

  bool good() const noexcept;
};

// Asks the store and each broker. A key is claimed in a transaction that is undone; nothing else is
// written.
Result<DoctorReport> examine(Store& store, const config::Config& config);

json::Writer doctor_json(const config::Config& config, const DoctorReport& report);

}  // namespace semel::compose
