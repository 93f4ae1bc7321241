#include "config/exec_build.h"

#include <fmt/format.h>

#include "config/node.h"
#include "config/store_build.h"

namespace semel::config {
namespace {

// A path in the command is relative to the config's folder, and always keeps a slash: without one
// it would be searched for in PATH.
std::string resolve_program(const std::string& folder, const std::string& program) {
  if (program.find('/') == std::string::npos) return program;
  const auto path = resolve_path(folder, program);
  return path.find('/') == std::string::npos ? "./" + path : path;
}

}  // namespace

core::ExecSpec build_exec(const View& exec, const View& consumer, const std::string& folder,
                          const SourceConfig& source) {
  core::ExecSpec made;
  exec.fill(made);
  for (std::size_t i = 0; i < exec.size("command"); ++i) {
    const auto* word = exec.settings().find(join_path(exec.path("command"), i));
    if (word != nullptr) made.command.push_back(word->text);
  }
  if (!made.command.empty()) made.command[0] = resolve_program(folder, made.command[0]);
  made.timeout =
      exec.find("timeout") != nullptr ? exec.duration("timeout") : consumer.duration("timeout");
  made.result_limit = static_cast<std::size_t>(consumer.in("limits").number("result"));
  made.consumer = consumer.text("name");
  made.source = name_of(source);
  return made;
}

void check_exec(const core::ExecSpec& spec, const View& exec, Report& report) {
  if (exec.spoiled("command") || spec.command.empty()) return;
  if (spec.command.front().find_first_not_of(" \t\r\n") != std::string::npos) return;
  const auto* program = exec.settings().find(join_path(exec.path("command"), 0));
  report
      .error("E014", program->place, program->path,
             fmt::format("{}: empty, where a program must stand", program->path))
      .help = "command: [program, argument]";
}

}  // namespace semel::config
