// The spelling of the shared statements for MariaDB and MySQL.
#pragma once

#include <string>
#include <string_view>

#include "stores/sql/session.h"

namespace semel::mysql {

class Dialect final : public sql::Dialect {
 public:
  // ON CONFLICT becomes ON DUPLICATE KEY UPDATE; a cast to our enum is removed; locking statements
  // name their index. Values stay ?1, ?2 …: the session fills them in.
  std::string translated(std::string_view shared) const override;
  // semel_record has no index but its key: each further one would slow every claim.
  std::string_view open_records() const noexcept override { return "semel_record_open"; }
  std::string_view list_open() const noexcept override;
  std::string_view unlist_open() const noexcept override;
};

}  // namespace semel::mysql
