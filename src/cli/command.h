// How a command joins the program: one function for each command, called by main. There is no
// registry.
//
//   void add_version(Program& program) {
//     program.command({.name = "version", .description = "…", .group = "Other", .flags = kOutput},
//                     [](Console& console) { …; return kOk; });
//   }
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cli/console.h"

namespace CLI {
class App;
}

namespace semel::cli {

// The shared flags that a command takes. All commands take --color.
enum Flags : unsigned {
  kConfigFlag = 1U << 0,      // -c FILE, --set PATH=VALUE
  kConfigArgument = 1U << 1,  // CONFIG as an argument too
  kOutput = 1U << 2,          // -o
  kTime = 1U << 3,            // --time
  kQuiet = 1U << 4,           // -q
  kVerbose = 1U << 5,         // -v
  kYes = 1U << 6,             // -y
  kDryRun = 1U << 7,          // -n
  kUrlFlag = 1U << 8,         // --url, --token-file, --ca-file
};

struct CommandSpec {
  std::string name = {};
  std::string description = {};
  std::string group = {};  // heading in the list of commands: "Start", "Config", "Operate", "Other"
  unsigned flags = 0;
  CLI::App* parent = nullptr;  // none: the program itself
};

// Returns the exit code.
using Action = std::function<int(Console&)>;

class Program {
 public:
  Program();
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  // Adds a command. The caller adds the command's own flags to the returned object. The action is
  // copied and the flags' values must live as long as it: keep them in a shared_ptr that it
  // captures.
  CLI::App& command(const CommandSpec& spec, Action action);
  // Adds a word that only groups commands: `records`.
  CLI::App& family(const CommandSpec& spec);

  int run(int argc, char** argv);

 private:
  void add_help();

  struct Impl;
  std::unique_ptr<Impl> impl_;
};

void add_init(Program& program);
void add_run(Program& program);
void add_demo(Program& program);
void add_check(Program& program);
void add_config(Program& program);
void add_explain(Program& program);
void add_status(Program& program);
void add_tap(Program& program);
void add_consumers(Program& program);
void add_reload(Program& program);
void add_send(Program& program);
void add_records(Program& program);
void add_dlq(Program& program);
void add_store(Program& program);
void add_doctor(Program& program);
void add_store_migrate(Program& program, CLI::App& family);
void add_store_verify(Program& program, CLI::App& family);
void add_version(Program& program);

}  // namespace semel::cli
