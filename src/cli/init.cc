#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include <memory>
#include <string>

#include "cli/command.h"
#include "cli/starter.h"
#include "cli/text.h"

namespace semel::cli {

namespace {

struct InitFlags {
  std::string expression;
  bool small = false;
  bool list = false;
};

void add_words(json::Writer& writer, std::string_view name, const std::vector<StarterWord>& words) {
  writer.name(name).begin_array();
  for (const auto& word : words) {
    writer.begin_object().member("name", word.name).member("meaning", word.meaning).end_object();
  }
  writer.end_array();
}

std::vector<StarterParts> combinations() {
  std::vector<StarterParts> all;
  for (const auto& source : starter_sources()) {
    for (const auto& handler : starter_handlers()) {
      for (const auto& store : starter_stores()) {
        all.push_back(
            {std::string(source.name), std::string(handler.name), std::string(store.name)});
      }
    }
  }
  return all;
}

void list_starters_json(Console& console) {
  auto writer = document("init");
  add_words(writer, "sources", starter_sources());
  add_words(writer, "handlers", starter_handlers());
  add_words(writer, "stores", starter_stores());
  writer.name("combinations").begin_array();
  for (const auto& parts : combinations()) {
    const auto text = starter_text(parts, false);
    writer.begin_object()
        .member("expression", fmt::format("{}/{}/{}", parts.source, parts.handler, parts.store))
        .member("legal", text.has_value());
    if (!text) writer.member("reason", text.error().message);
    writer.end_object();
  }
  writer.end_array().end_object();
  console.out(writer);
}

void list_starters_text(Console& console) {
  const auto table = [&](std::string title, const std::vector<StarterWord>& words) {
    Table made({std::move(title), ""});
    for (const auto& word : words) made.row({std::string(word.name), std::string(word.meaning)});
    return made.text();
  };
  console.out(table("SOURCE", starter_sources()) + "\n" + table("HANDLER", starter_handlers()) +
              "\n" + table("STORE", starter_stores()) + "\n");
  for (const auto& parts : combinations()) {
    const auto text = starter_text(parts, false);
    if (!text) continue;
    console.out(fmt::format("semel init {}/{}/{}\n", parts.source, parts.handler, parts.store));
  }
}

int write_starter(Console& console, const InitFlags& asked) {
  if (asked.list) {
    console.text() ? list_starters_text(console) : list_starters_json(console);
    return kOk;
  }
  const auto parts = parse_starter(asked.expression);
  if (!parts) return console.fail(kUsage, parts.error().message, parts.error().hint);
  const auto text = starter_text(*parts, asked.small);
  if (!text) return console.fail(kUsage, text.error().message, text.error().hint);
  console.out(*text);
  if (console.out_is_terminal()) console.next("semel init … > semel.yaml");
  return kOk;
}

}  // namespace

void add_init(Program& program) {
  auto asked = std::make_shared<InitFlags>();
  auto& command = program.command(
      {.name = "init", .description = "Print a starter config", .group = "Start", .flags = kOutput},
      [asked](Console& console) { return write_starter(console, *asked); });
  command
      .add_option("EXPR", asked->expression,
                  "Its source, handler and store; default: queue/sql/sqlite")
      ->type_name("SOURCE/HANDLER/STORE");
  command.add_flag("--small", asked->small, "Only what must be there");
  command.add_flag("--list", asked->list, "The sources, handlers and stores there are");
}

}  // namespace semel::cli
