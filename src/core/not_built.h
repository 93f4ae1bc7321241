// The error for an adapter that this build lacks.
#pragma once

#include <string>
#include <string_view>

#include <semel/error.h>

namespace semel::core {

// `what`: the adapter, as people name it. `option`: the part of CMake's option after SEMEL_WITH_.
inline Error not_built(std::string_view what, std::string_view option) {
  Error error;
  error.code = "E064";
  error.message = "this Semel was built without " + std::string(what);
  error.hint = "build Semel with -DSEMEL_WITH_" + std::string(option) +
               "=ON; ./setup builds it with every adapter";
  return error;
}

}  // namespace semel::core
