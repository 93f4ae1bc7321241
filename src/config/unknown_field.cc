#include "config/unknown_field.h"

#include <algorithm>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "config/suggest.h"

namespace semel::config {
namespace {

// "consumers[0].handler.sql" is an instance of "consumers[].handler".
std::string pattern_of(std::string_view path) {
  std::string out;
  bool index = false;
  for (const char c : path) {
    if (c == ']') index = false;
    if (!index) out += c;
    if (c == '[') index = true;
  }
  return out;
}

std::string parent_of(const std::string& path) {
  const auto end = path.find_last_of(".[");
  return end == std::string::npos ? std::string() : path.substr(0, end);
}

// The places where a field named `name` is allowed, as patterns of the maps that contain it.
std::vector<std::string> homes_of(std::string_view name) {
  std::vector<std::string> homes;
  each_field([&](const std::string& path, const Field& field) {
    if (field.name == name) homes.push_back(parent_of(path));
  });
  return homes;
}

std::vector<std::string_view> names_of(const Field& map) {
  std::vector<std::string_view> names;
  for (const auto& field : map.fields) names.push_back(field.name);
  return names;
}

// Words that other programs use for fields with other names here.
struct OtherWord {
  std::string_view written;
  std::string_view meant;
};
constexpr OtherWord kOtherWords[] = {
    {"retries", "attempts"},        {"tries", "attempts"},        {"max_attempts", "attempts"},
    {"max_retries", "attempts"},    {"retry_count", "attempts"},  {"workers", "concurrency"},
    {"parallelism", "concurrency"}, {"threads", "concurrency"},   {"delay", "backoff"},
    {"dlq", "dead_letter"},         {"deadletter", "dead_letter"}};

std::optional<std::string> other_word(std::string_view written,
                                      const std::vector<std::string_view>& known) {
  for (const OtherWord& word : kOtherWords) {
    const bool here = std::find(known.begin(), known.end(), word.meant) != known.end();
    if (word.written == written && here) return std::string(word.meant);
  }
  return std::nullopt;
}

// Suggests a field of this map: for another program's word, or for a misspelling.
std::optional<std::string> meant_here(std::string_view written,
                                      const std::vector<std::string_view>& names) {
  if (auto word = other_word(written, names)) return word;
  return nearest(written, names);
}

// Suggests a field of another map, where a similar word helps only if it begins alike.
std::optional<std::string> meant_elsewhere(std::string_view written) {
  std::vector<std::string_view> alike, all;
  each_field([&](const std::string&, const Field& field) {
    if (field.name.empty()) return;
    all.push_back(field.name);
    if (!written.empty() && field.name.front() == written.front()) alike.push_back(field.name);
  });
  if (auto word = other_word(written, all)) return word;
  return nearest(written, alike);
}

std::string written_at(const std::string& path) { return path.empty() ? "the file" : path; }

// The nearest map around `path` that allows the field, and how many levels up it is.
struct Home {
  std::string path;
  int levels = 0;
};
std::optional<Home> home_around(const std::string& path, const std::vector<std::string>& homes) {
  std::string at = path;
  for (int levels = 0;; ++levels) {
    if (levels > 0 && std::find(homes.begin(), homes.end(), pattern_of(at)) != homes.end()) {
      return Home{at, levels};
    }
    if (at.empty()) return std::nullopt;
    const auto end = at.find_last_of(".[");
    at = end == std::string::npos ? std::string() : at.substr(0, end);
  }
}

// Lists the few homes with the fewest levels. A field of `defaults` also exists in a consumer,
// which is usually meant.
std::string list_homes(std::vector<std::string> homes, std::string_view name) {
  constexpr std::size_t kMostHomes = 3;
  const auto in_defaults = [](const std::string& home) { return home.starts_with("defaults"); };
  if (!std::all_of(homes.begin(), homes.end(), in_defaults)) std::erase_if(homes, in_defaults);
  std::stable_sort(homes.begin(), homes.end(), [](const auto& a, const auto& b) {
    return std::count(a.begin(), a.end(), '.') < std::count(b.begin(), b.end(), '.');
  });
  std::string places;
  for (std::size_t i = 0; i < homes.size() && i < kMostHomes; ++i) {
    places += (i > 0 ? ", " : "") + join_path(homes[i], name);
  }
  return places;
}

void report_misplaced(const Node::Member& member, const std::string& path,
                      const std::vector<std::string>& homes, Report& report) {
  auto& made =
      report.error("E013", member.place, join_path(path, member.name),
                   fmt::format("{} is not valid {}", in_quotes(member.name),
                               path.empty() ? "at the top of the file" : "inside " + path));
  if (const auto home = home_around(path, homes)) {
    const auto right = join_path(home->path, member.name);
    made.detail.push_back(
        home->path.empty()
            ? "it belongs at the top of the file (check the indentation)"
            : fmt::format("it belongs {} up: {} (check the indentation)",
                          home->levels == 1 ? "one level" : fmt::format("{} levels", home->levels),
                          right));
    return;
  }
  made.detail.push_back("it belongs in " + list_homes(homes, member.name));
}

}  // namespace

void report_unknown_field(const Field& map, const Node::Member& member, const std::string& path,
                          Report& report) {
  if (report.full()) {
    report.error("E012", member.place, join_path(path, member.name), "unknown field");
    return;
  }
  const auto homes = homes_of(member.name);
  if (!homes.empty()) {
    report_misplaced(member, path, homes, report);
    return;
  }
  auto& made =
      report.error("E012", member.place, join_path(path, member.name),
                   fmt::format("unknown field {} in {}", in_quotes(member.name), written_at(path)));
  const auto names = names_of(map);
  if (const auto meant = meant_here(member.name, names)) {
    made.detail.push_back(fmt::format("did you mean \"{}\"?", *meant));
    return;
  }
  if (const auto meant = meant_elsewhere(member.name)) {
    made.detail.push_back(fmt::format("did you mean \"{}\"? it belongs in {}", *meant,
                                      list_homes(homes_of(*meant), *meant)));
  }
  made.help = names.empty() ? "this map has no fields: write {}"
                            : fmt::format("fields here: {}", fmt::join(names, ", "));
}

}  // namespace semel::config
