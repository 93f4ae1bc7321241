// GateRows: consumers that begin nothing for now.
#pragma once

#include <optional>
#include <string_view>

#include <semel/gates.h>

#include "stores/sqlite/prepared.h"

namespace semel::sqlite {

class GateRows {
 public:
  explicit GateRows(Connection& connection);

  std::optional<ShutGate> find(ConsumerNumber consumer, StoreTime now);
  void shut(ConsumerNumber consumer, std::string_view why, StoreTime now,
            std::optional<StoreTime> until);
  void open(ConsumerNumber consumer);
  bool resume(ConsumerNumber consumer);

 private:
  Prepared find_;
  Prepared shut_;
  Prepared open_;
  Prepared resume_;
};

}  // namespace semel::sqlite
