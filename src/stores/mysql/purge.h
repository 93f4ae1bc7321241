// Purge: forgets records past their ttl, in small parts.
#pragma once

#include "stores/mysql/store_context.h"
#include "stores/mysql/sweep.h"
#include "stores/sql/purge.h"

namespace semel::mysql {

// One caller at a time.
class Purge final : public sql::ServerPurge {
 public:
  explicit Purge(StoreContext& context);

 private:
  void erase_journals(sql::Session& session, std::span<const KeyId> records) override;
  std::size_t forget_completed(sql::Session& session, sql::Tables& tables, Times times,
                               sql::PurgeBudget& budget) override;
  void forget_others(sql::Session& session, sql::PurgeBudget& budget) override;

  StoreContext& context_;
  Sweep sweep_;
  std::size_t turn_ = 0;
};

}  // namespace semel::mysql
