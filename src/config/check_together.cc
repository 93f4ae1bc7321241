#include <map>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "config/checks.h"
#include "config/node.h"

namespace semel::config {

void check_together(const Settings& settings, Report& report) {
  std::map<std::string, const Setting*> names;
  std::optional<std::string> reader;
  for (std::size_t i = 0; i < settings.size("consumers"); ++i) {
    const View view(settings, join_path("consumers", i));
    if (const auto* name = view.find("name")) {
      const auto [other, fresh] = names.emplace(name->text, name);
      if (!fresh) {
        auto& made = report.error("E025", name->place, name->path,
                                  fmt::format("two consumers are named {}", in_quotes(name->text)));
        made.detail.push_back("the other at " + report.spot(other->second->place));
        made.help = "a record belongs to (consumer, key): give each its own name";
      }
    }
    const auto source = view.in("source");
    if (!source.written("stdin")) continue;
    if (reader) {
      auto& made = report.error(
          "E026", source.place("stdin"), source.path("stdin"),
          fmt::format("{}: standard input is read by {} already", source.path("stdin"), *reader));
      made.detail.push_back("each line would reach only one of them");
      made.help = "source: { file: { path: … } }, which any number can read";
    } else {
      reader = view.path();
    }
  }
}

}  // namespace semel::config
