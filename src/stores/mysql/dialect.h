// How MariaDB and MySQL say what the shared statements mean.
#pragma once

#include <string>
#include <string_view>

#include "stores/sql/session.h"

namespace semel::mysql {

class Dialect final : public sql::Dialect {
 public:
  // ON CONFLICT becomes ON DUPLICATE KEY UPDATE; a cast to our enum goes; what locks is told its
  // index. Values stay ?1, ?2 …: the session writes them in.
  std::string translated(std::string_view shared) const override;
  // semel_record has no index but its key: each more would cost every claim.
  std::string_view open_records() const noexcept override { return "semel_record_open"; }
  std::string_view list_open() const noexcept override;
  std::string_view unlist_open() const noexcept override;
};

}  // namespace semel::mysql
