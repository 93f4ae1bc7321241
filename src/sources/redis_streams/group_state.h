// How far a group is in its stream.
#pragma once

#include <cstdint>

namespace semel::redis_streams {

struct GroupState {
  std::int64_t pending = 0;
  std::int64_t unread = 0;
  // Entries trimmed or deleted before the group had read them, in total; zero where unknown.
  std::int64_t missed = 0;
};

}  // namespace semel::redis_streams
