// Overloaded: one callable of several, for std::visit.
#pragma once

namespace semel {

template <class... F>
struct Overloaded : F... {
  using F::operator()...;
};
template <class... F>
Overloaded(F...) -> Overloaded<F...>;

}  // namespace semel
