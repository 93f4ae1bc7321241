// For builds without MariaDB and MySQL.
#include <semel/mysql.h>

#include "core/not_built.h"
#include "stores/mysql/url.h"

namespace semel {
namespace {

Error no_mysql() { return core::not_built("MariaDB and MySQL", "MYSQL"); }

}  // namespace

Result<std::unique_ptr<Store>> open_mysql(MySqlOptions) { return failure(no_mysql()); }

Result<SchemaChange> mysql_schema_change(const MySqlOptions&) { return failure(no_mysql()); }
Result<void> make_mysql_functions(const MySqlOptions&) { return failure(no_mysql()); }
Result<void> drop_mysql_functions(const MySqlOptions&) { return failure(no_mysql()); }
Result<std::string> mysql_functions_sql() { return failure(no_mysql()); }
Result<std::string> mysql_functions_drop_sql() { return failure(no_mysql()); }

namespace mysql {

std::optional<Target> read_target(std::string_view) { return std::nullopt; }

}  // namespace mysql
}  // namespace semel
