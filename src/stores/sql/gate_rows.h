// GateRows: consumers that begin nothing for now.
#pragma once

#include <optional>
#include <string_view>

#include <semel/gates.h>

#include "stores/sql/session.h"

namespace semel::sql {

struct GateTexts {
  explicit GateTexts(const Dialect& dialect);
  Text find, shut, change, open, resume;
};

class GateRows {
 public:
  GateRows(Session& session, const GateTexts& texts) : session_(session), texts_(texts) {}

  // Also one whose time has passed.
  std::optional<ShutGate> find(ConsumerNumber consumer);
  // A pause that is there stays as it is.
  void shut(ConsumerNumber consumer, std::string_view why, StoreTime now,
            std::optional<StoreTime> until);
  void open(ConsumerNumber consumer);
  bool resume(ConsumerNumber consumer);

 private:
  Session& session_;
  const GateTexts& texts_;
};

}  // namespace semel::sql
