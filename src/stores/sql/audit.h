// AuditLog over its rows.
#pragma once

#include <memory>

#include <semel/admin/audit.h>

#include "stores/sql/database.h"

namespace semel::sql {

std::unique_ptr<AuditLog> make_audit(Database& database);

}  // namespace semel::sql
