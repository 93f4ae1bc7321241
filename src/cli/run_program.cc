#include "cli/run_program.h"

#include <csignal>

#include "cli/command.h"
#include "cli/internal_error.h"

namespace semel::cli {

int run_program(int argc, char** argv) {
  end_with_exit_code_where_nobody_catches();
  // The parent process may have left SIGCHLD ignored. Then the exit status of a handler's command
  // could not be read.
  std::signal(SIGCHLD, SIG_DFL);
  Program program;
  add_demo(program);
  add_init(program);
  add_run(program);
  add_check(program);
  add_doctor(program);
  add_config(program);
  add_explain(program);
  add_status(program);
  add_tap(program);
  add_consumers(program);
  add_reload(program);
  add_send(program);
  add_records(program);
  add_dlq(program);
  add_store(program);
  add_version(program);
  return program.run(argc, argv);
}

}  // namespace semel::cli
