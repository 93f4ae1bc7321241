#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cli/command.h"
#include "cli/starter.h"
#include "cli/text.h"

namespace semel::cli {

namespace {

constexpr std::size_t kListWidth = 80;
constexpr std::size_t kTitle = 10;

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

void list_starters_json(Console& console) {
  auto writer = document("init");
  add_words(writer, "sources", starter_sources());
  add_words(writer, "handlers", starter_handlers());
  add_words(writer, "stores", starter_stores());
  writer.name("strategies").begin_array();
  for (const auto name : starter_strategies()) writer.value(name);
  writer.end_array().name("combinations").begin_array();
  for (const auto& parts : starter_combinations()) {
    const auto text = starter_text(parts, false);
    writer.begin_object()
        .member("expression", parts.expression())
        .member("legal", text.has_value());
    if (!text) writer.member("reason", text.error().message);
    writer.end_object();
  }
  writer.end_array().end_object();
  console.out(writer);
}

// "STORE     sqlite, postgres, …", wrapped below its first word.
std::string row_of(std::string_view title, const std::vector<std::string_view>& words) {
  return wrapped(fmt::format("{:<{}}{}\n", title, kTitle, fmt::join(words, ", ")), kListWidth,
                 kBelowGap);
}

std::vector<std::string_view> word_names(const std::vector<StarterWord>& words) {
  std::vector<std::string_view> names;
  for (const auto& word : words) names.push_back(word.name);
  return names;
}

// Pairs that fit with no third part: ("sql", "memory"), as one line for each first word.
std::string misfits_text() {
  using Pair = std::pair<std::string, std::string>;
  std::map<Pair, bool> fit;  // source or handler, with a store
  for (const auto& parts : starter_combinations()) {
    const bool good = starter_text(parts, true).has_value();
    for (const std::string& word : {parts.source, parts.handler}) {
      if (word.empty()) continue;
      bool& known = fit[{word, parts.store}];
      known = known || good;
    }
  }
  std::map<std::string, std::vector<std::string>> misfits;
  for (const auto& [pair, good] : fit) {
    if (!good) misfits[pair.first].push_back(pair.second);
  }
  std::vector<std::string> lines;
  for (const auto& [word, stores] : misfits) {
    lines.push_back(fmt::format("{} with {}", word, fmt::join(stores, " or ")));
  }
  return fmt::format("{}", fmt::join(lines, ", "));
}

void list_starters_text(Console& console) {
  console.out("semel init SOURCE/HANDLER/STORE > semel.yaml\n\n");
  auto sources = word_names(starter_sources());
  console.out(row_of("SOURCE", sources) + row_of("HANDLER", word_names(starter_handlers())) +
              row_of("STORE", word_names(starter_stores())) +
              row_of("STRATEGY", starter_strategies()) + "\n");
  console.out(
      "Any of each, as queue/sql/sqlite, which is the default; claims has no handler:\n"
      "semel init claims/sqlite. A strategy is a field of the consumer: the starter has\n"
      "one that fits, and semel explain strategies tells them apart.\n");
  console.out(wrapped(fmt::format("Not together: {}.\n", misfits_text()), kListWidth, 0));
  console.out("What each one is, and each combination: semel init --list -o json\n");
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
                  "Its source, handler and store; default: queue/sql/sqlite. --list names them")
      ->type_name("SOURCE/HANDLER/STORE");
  command.add_flag("--small", asked->small, "Only what must be there");
  command.add_flag("--list", asked->list, "The sources, handlers, stores and strategies there are");
}

}  // namespace semel::cli
