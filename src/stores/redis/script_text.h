// What scripts of one purpose begin with.
#pragma once

#include <string>
#include <string_view>

namespace semel::redis {

// `now`, in milliseconds by `clock`, stands before the text.
inline std::string with_now(const std::string& clock, std::string_view text) {
  return "local now = math.floor(" + clock + " / 1000)\n" + std::string(text);
}

}  // namespace semel::redis
