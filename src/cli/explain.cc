#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include <memory>
#include <string>

#include "cli/command.h"
#include "cli/text.h"
#include "config/catalog.h"

namespace semel::cli {

namespace {

void list_codes_text(Console& console) {
  Table topics({"TOPIC", ""});
  for (const auto& page : config::topics()) {
    topics.row({std::string(page.name), std::string(page.title)});
  }
  Table codes({"CODE", ""});
  for (const auto& page : config::all_codes()) {
    codes.row({std::string(page.code), std::string(page.title)});
  }
  console.out(topics);
  console.out("\n");
  console.out(codes);
}

void list_codes_json(Console& console) {
  auto writer = document("explain");
  writer.name("topics").begin_array();
  for (const auto& page : config::topics()) {
    writer.begin_object().member("name", page.name).member("title", page.title).end_object();
  }
  writer.end_array().name("codes").begin_array();
  for (const auto& page : config::all_codes()) {
    writer.begin_object().member("code", page.code).member("title", page.title).end_object();
  }
  writer.end_array().end_object();
  console.out(writer);
}

void page_json(Console& console, const std::string& word) {
  auto writer = document("explain");
  if (const auto page = config::find_code(word)) {
    writer.member("code", page->code)
        .member("title", page->title)
        .member("why", page->why)
        .member("fix", page->fix)
        .member("example", page->example);
    if (page->exit != 0) writer.member("exit_code", page->exit);
  } else if (const auto topic = config::find_topic(word)) {
    writer.member("topic", topic->name).member("title", topic->title).member("text", topic->text);
  }
  console.out(writer.end_object());
}

int explain(Console& console, const std::string& word) {
  if (word.empty()) {
    console.text() ? list_codes_text(console) : list_codes_json(console);
    return kOk;
  }
  const auto text = config::explain(word);
  if (!text) {
    const auto meant = config::nearest_explained(word);
    return console.fail(kNothing, fmt::format("nothing is known about \"{}\"", printable(word, 40)),
                        meant ? fmt::format("did you mean \"{}\"?", *meant)
                              : "semel explain lists all codes and topics");
  }
  if (console.text()) {
    console.out_wrapped(*text, kBelowGap);
  } else {
    page_json(console, word);
  }
  return kOk;
}

}  // namespace

void add_explain(Program& program) {
  auto word = std::make_shared<std::string>();
  auto& command = program.command({.name = "explain",
                                   .description = "Explain a code and its fix; topics",
                                   .group = "Config",
                                   .flags = kOutput},
                                  [word](Console& console) { return explain(console, *word); });
  command
      .add_option("WORD", *word, "A code (E012), or a topic: outcomes, guarantees, strategies …")
      ->type_name("CODE|TOPIC");
}

}  // namespace semel::cli
