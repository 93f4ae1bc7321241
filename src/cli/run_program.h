// The program `semel` without its main(): the tests link it into a program of their own.
#pragma once

namespace semel::cli {

// Runs the command given by the arguments; returns the exit code.
int run_program(int argc, char** argv);

}  // namespace semel::cli
