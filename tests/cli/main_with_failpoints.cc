// `semel`, with failpoints.
#include "cli/run_program.h"
#include "tests/support/failpoints.h"

int main(int argc, char** argv) {
  semel::test::install_failpoints_from_environment();
  return semel::cli::run_program(argc, argv);
}
