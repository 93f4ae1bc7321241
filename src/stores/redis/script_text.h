// The common beginning of scripts.
#pragma once

#include <string>
#include <string_view>

namespace semel::redis {

// `text` after a definition of `now`, in milliseconds by `clock`.
inline std::string with_now(const std::string& clock, std::string_view text) {
  return "local now = math.floor(" + clock + " / 1000)\n" + std::string(text);
}

}  // namespace semel::redis
