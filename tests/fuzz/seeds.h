// The parts of a fuzz target: what is done with an input, and where its inputs begin. Each target
// defines these once.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace semel::fuzz {

// Aborts where an answer is wrong.
void one_input(std::string_view bytes);
// Inputs that reach far, from the tables of the code.
std::vector<std::string> seeds();
// Pieces that inputs are made of.
std::vector<std::string> words();

}  // namespace semel::fuzz
