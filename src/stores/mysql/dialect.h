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
};

}  // namespace semel::mysql
