#include "cli/exit_code.h"

#include "config/catalog.h"

namespace semel::cli {

ExitCode exit_code_of(const Error& error) {
  return static_cast<ExitCode>(config::exit_code_of(error));
}

}  // namespace semel::cli
