// Result<T>: a value, or the Error that prevented it. Ports return it and never throw.
#pragma once

#include <utility>

#include <semel/error.h>

// An alias cannot be [[nodiscard]], and the class behind it is not: it is declared so here, before
// its own header defines it. The compiler then warns of a discarded Result wherever it is returned:
// by a function, a lambda, a std::function. In a file that includes <tl/expected.hpp> before any
// header of Semel it is too late for the attribute, and the compiler says nothing.
#ifndef TL_EXPECTED_HPP
namespace tl {
template <class T, class E>
class [[nodiscard]] expected;
}  // namespace tl
#endif

#include <tl/expected.hpp>

namespace semel {

template <class T>
using Result = tl::expected<T, Error>;

// `return failure(...)` from a function that returns any Result.
[[nodiscard]] inline tl::unexpected<Error> failure(Error error) {
  return tl::unexpected<Error>(std::move(error));
}

}  // namespace semel
