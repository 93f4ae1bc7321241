// semel reload: makes a run read its config file again and apply the changes.
#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/remote.h"
#include "cli/text.h"

namespace semel::cli {

namespace {

struct ReloadFlags {
  std::optional<std::string> reason;
};

// The changes as text, such as "emails changed, refunds added, tokens".
std::string changes_in(const JsonView& reloaded) {
  std::vector<std::string> words;
  for (const JsonView& one : reloaded.objects("consumers")) {
    words.push_back(one.text("name") + " " + one.text("change"));
  }
  if (reloaded.flag("tokens")) words.emplace_back("tokens");
  if (reloaded.flag("shown")) words.emplace_back("what the listener shows");
  return fmt::format("{}", fmt::join(words, ", "));
}

std::string or_nothing(const std::string& value) {
  return value.empty() ? "nothing" : printable(value);
}

void tell_values(Console& console, const JsonView& reloaded) {
  for (const JsonView& one : reloaded.objects("consumers")) {
    for (const JsonView& value : one.objects("values")) {
      console.out(fmt::format("  {} {}: {} to {}\n", one.text("name"), value.text("path"),
                              or_nothing(value.text("from")), or_nothing(value.text("to"))));
    }
  }
}

int reload(Console& console, const ReloadFlags& flags) {
  auto run = Remote::open(console);
  if (!run) return run.error().code;
  const bool dry_run = console.settings().dry_run;
  json::Writer body;
  body.begin_object().member("dry_run", dry_run);
  if (flags.reason) body.member("reason", *flags.reason);
  const auto done = run->post("reload", body.end_object());
  if (!done) return console.fail(done.error());
  if (!console.text()) {
    out_document(console, *done);
    return kOk;
  }
  const std::string changes = changes_in(*done);
  if (changes.empty()) {
    console.out("nothing has changed in the config\n");
    return kOk;
  }
  console.out(fmt::format("{}: {}\n", dry_run ? "a reload would take up" : "the config is taken up",
                          changes));
  tell_values(console, *done);
  return kOk;
}

}  // namespace

void add_reload(Program& program) {
  auto flags = std::make_shared<ReloadFlags>();
  auto& command = program.command(
      {.name = "reload",
       .description = "Have the run at --url take up its config as the file has it now",
       .group = "Operate",
       .flags = kUrlFlag | kOutput | kQuiet | kDryRun},
      [flags](Console& console) { return reload(console, *flags); });
  command.add_option("--reason", flags->reason, "Kept in the audit log of the run")
      ->option_text("TEXT");
  command.footer(
      "Consumers that changed are drained and begin anew, the others go on. A config with an error "
      "is refused, and nothing is changed. --dry-run says what would change. On the run's own "
      "machine kill -HUP does the same.");
}

}  // namespace semel::cli
