// AuditRows: the table of people's acts through the admin API.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include <semel/admin/audit.h>

#include "stores/sql/statements.h"

namespace semel::sql {

struct AuditTexts {
  explicit AuditTexts(const Dialect& dialect);
  SqlText add, find, end, list;
};

class AuditRows {
 public:
  AuditRows(Statements& statements, const AuditTexts& texts)
      : statements_(statements), texts_(texts) {}

  // Returns the id of the new row, or of the existing one with that request.
  std::int64_t add(const Nonce& request, const AuditEntry& entry, StoreTime now);
  // A row that has an outcome keeps it.
  void end(std::int64_t id, std::string_view outcome);
  std::vector<AuditEntry> list(std::optional<std::int64_t> before, std::size_t limit);

 private:
  Statements& statements_;
  const AuditTexts& texts_;
};

}  // namespace semel::sql
