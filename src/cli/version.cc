#include <semel/version.h>

#include "cli/command.h"

namespace semel::cli {

void add_version(Program& program) {
  program.command({.name = "version",
                   .description = "The version of this program",
                   .group = "Other",
                   .flags = kOutput},
                  [](Console& console) -> int {
                    if (console.text()) {
                      console.out(std::string("semel ") + version() + "\n");
                    } else {
                      console.out(document("version").member("version", version()).end_object());
                    }
                    return kOk;
                  });
}

}  // namespace semel::cli
