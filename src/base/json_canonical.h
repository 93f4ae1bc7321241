// The canonical text of a JSON document: the same for all texts that say the same.
#pragma once

#include <string>
#include <string_view>

namespace semel::json {

// Without space, members sorted by name, strings in one spelling, numbers by their exact
// value: 1.50 and 15e-1 are one, as are 0 and -0. Elements of arrays keep their order, as do
// members of one name. `valid`: text that `validate` found good.
std::string canonical(std::string_view valid);

}  // namespace semel::json
