// Result<T>: a value, or the Error that kept it from being made. Ports return it and never throw.
#pragma once

#include <tl/expected.hpp>
#include <utility>

#include <semel/error.h>

namespace semel {

template <class T>
using Result = tl::expected<T, Error>;

// `return failure(...)` from a function that returns any Result.
inline tl::unexpected<Error> failure(Error error) {
  return tl::unexpected<Error>(std::move(error));
}

}  // namespace semel
