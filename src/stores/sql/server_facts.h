// ServerFacts: the part of the description of a store that all servers share.
#pragma once

#include <vector>

#include "stores/sql/facts.h"
#include "stores/sql/inspector.h"

namespace semel::sql {

// Each Access is that of a ServerDatabase.
class ServerFacts final : public StoreFacts {
 public:
  // `facts` outlives it.
  ServerFacts(const Dialect& dialect, Facts& facts);

  VerifyWords words() const noexcept override;
  void describe(Access& access, StoreStats& stats) override;
  void count_generations(Access& access, StoreStats& stats) override;
  std::vector<StoreFinding> verify_tables(Access& access, bool full) override;
  std::vector<StoreFinding> verify_generations(Access& access, bool full) override;

 private:
  std::size_t count_completed(Session& session, std::int64_t generation, StoreStats& stats);

  Facts& facts_;
  const SqlText version_, epoch_, generations_, completed_;
  const SqlText open_twice_;
  // Each reads all records.
  const SqlText twice_, inbox_missing_, generation_unknown_;
};

}  // namespace semel::sql
