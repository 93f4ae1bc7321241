// For builds without PostgreSQL.
#include <semel/postgres.h>

#include "core/not_built.h"
#include "stores/postgres/address.h"

namespace semel {
namespace {

Error no_postgres() { return core::not_built("PostgreSQL", "POSTGRES"); }

}  // namespace

Result<std::unique_ptr<Store>> open_postgres(PostgresOptions) { return failure(no_postgres()); }

Result<SchemaChange> postgres_schema_change(const PostgresOptions&) {
  return failure(no_postgres());
}

Result<void> make_postgres_functions(const PostgresOptions&) { return failure(no_postgres()); }

Result<void> drop_postgres_functions(const PostgresOptions&) { return failure(no_postgres()); }

Result<std::string> postgres_functions_sql(const PostgresOptions&) {
  return failure(no_postgres());
}

Result<std::string> postgres_functions_drop_sql(const PostgresOptions&) {
  return failure(no_postgres());
}

namespace postgres {

std::optional<Address> address_of(const std::string&) { return std::nullopt; }

}  // namespace postgres
}  // namespace semel
