#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>

#include "cli/command.h"
#include "cli/session.h"
#include "cli/text.h"
#include "config/config.h"

namespace semel::cli {

namespace {

struct ConfigShowFlags {
  bool origin = false;
};

// Puts a value on one line, whatever it contains.
std::string one_line(std::string_view value) {
  std::string out;
  for (const char c : value) {
    if (c == '\n') {
      out += "\\n";
    } else {
      out += c;
    }
  }
  return printable(out);
}

void show_config_text(Console& console, const config::Loaded& loaded, bool origin) {
  for (const auto& each : loaded.effective) {
    std::string line = fmt::format("{} = {}", each.path, one_line(each.value));
    if (origin) line += fmt::format("   # {}", each.origin);
    console.out(line + "\n");
  }
}

void show_config_json(Console& console, const std::string& file, const config::Loaded& loaded) {
  auto writer = document("config");
  writer.member("file", file).name("values").begin_array();
  for (const auto& each : loaded.effective) {
    writer.begin_object()
        .member("path", each.path)
        .member("value", each.value)
        .member("origin", each.origin)
        .end_object();
  }
  writer.end_array().end_object();
  console.out(writer);
}

int show_config(Console& console, const ConfigShowFlags& asked) {
  auto path = config_path(console);
  if (!path) return path.error().code;
  config::LoadOptions options;
  options.sets = console.settings().sets;
  const auto loaded = config::load_file(*path, options);
  for (const auto& each : loaded.diagnostics) {
    tell(console, each);
  }
  if (!loaded.config) return kConfig;
  if (console.text()) {
    show_config_text(console, loaded, asked.origin);
  } else {
    show_config_json(console, *path, loaded);
  }
  return kOk;
}

}  // namespace

void add_config(Program& program) {
  auto& family =
      program.family({.name = "config", .description = "The config in effect", .group = "Config"});
  auto asked = std::make_shared<ConfigShowFlags>();
  auto& command =
      program.command({.name = "show",
                       .description = "Every value in effect; what came from a secret is not shown",
                       .group = "",
                       .flags = kConfigArgument | kOutput | kQuiet,
                       .parent = &family},
                      [asked](Console& console) { return show_config(console, *asked); });
  command.add_flag("--origin", asked->origin, "Show where each value comes from");
}

}  // namespace semel::cli
