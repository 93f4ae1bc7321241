// A key recipe as tests write it.
#pragma once

#include <string>
#include <vector>

#include "core/key_recipe.h"

namespace semel::core {

inline KeyRecipe recipe(const std::vector<std::string>& parts) {
  KeyRecipe made;
  for (const std::string& text : parts) made.parts.push_back(KeyPart::parse(text).value());
  return made;
}

}  // namespace semel::core
