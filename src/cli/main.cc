#include <csignal>

#include "cli/command.h"

int main(int argc, char** argv) {
  // Who started us may have left it ignored: then nobody learns how a handler's command ended.
  std::signal(SIGCHLD, SIG_DFL);
  semel::cli::Program program;
  semel::cli::add_demo(program);
  semel::cli::add_init(program);
  semel::cli::add_run(program);
  semel::cli::add_check(program);
  semel::cli::add_doctor(program);
  semel::cli::add_config(program);
  semel::cli::add_explain(program);
  semel::cli::add_status(program);
  semel::cli::add_tap(program);
  semel::cli::add_consumers(program);
  semel::cli::add_send(program);
  semel::cli::add_records(program);
  semel::cli::add_dlq(program);
  semel::cli::add_store(program);
  semel::cli::add_version(program);
  return program.run(argc, argv);
}
