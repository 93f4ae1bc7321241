// The canonical text of a JSON document: the same for all texts with the same value.
#pragma once

#include <string>
#include <string_view>

namespace semel::json {

// Without space, members sorted by name, strings in one spelling, numbers by their exact value:
// 1.50 and 15e-1 are equal, as are 0 and -0. Elements of arrays keep their order, as do members of
// one name. `valid`: text that `validate` accepted.
std::string canonical(std::string_view valid);

}  // namespace semel::json
