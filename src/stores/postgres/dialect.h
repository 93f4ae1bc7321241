// PostgreSQL's spelling of the shared statements.
#pragma once

#include <string>
#include <string_view>

#include "stores/sql/session.h"

namespace semel::postgres {

// `name` as PostgreSQL takes any name: in double quotes.
std::string quoted_name(std::string_view name);
// `text` as a constant of SQL.
std::string literal(std::string_view text);
void replace_all(std::string& text, std::string_view what, std::string_view by);

class Dialect final : public sql::Dialect {
 public:
  explicit Dialect(std::string_view schema) : prefix_(quoted_name(schema) + ".") {}

  // ?1 becomes $1, and every name semel_… gets our schema.
  std::string translated(std::string_view shared) const override;
  // "schema".
  const std::string& prefix() const noexcept { return prefix_; }

 private:
  std::string prefix_;
};

}  // namespace semel::postgres
