// The schema: one table of every field, its shape, default and meaning. The reader, `config show`
// and docs/config.md are generated from it.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <typeinfo>
#include <vector>

namespace semel::config {

enum class Shape {
  kMap,         // named fields
  kList,        // items of one shape
  kDictionary,  // the user's own names, values of one shape
  kText,
  kArgument,    // of a command: unchanged, may be empty
  kName,        // [a-z][a-z0-9_-]{0,62}
  kIdentifier,  // of a database: [a-z_][a-z0-9_]{0,62}
  kCode,        // a word of a closed list, or a diagnostic's code
  kWord,        // a word of a closed list
  kInteger,
  kNumber,
  kBoolean,
  kDuration,
  kDurationRange,  // "1s..5m"
  kSize,
  kSql,
  kPath,           // relative to the config file's folder
  kPointer,        // json:/a/b
  kAnswerPointer,  // the same, or answer:/a/b
  kKeyPart,        // json:/a, header:X, cloudevents, position, …
};

struct Field;
struct Setting;

// The member of a struct that gets a row's value, and whose default is the row's: see
// config/member.h.
struct Member {
  const std::type_info* owner = nullptr;
  std::string (*fallback)(const Field& field) = nullptr;
  void (*put)(const Setting& setting, void* object) = nullptr;  // `object`: one of the owner
};

struct Field {
  std::string_view name;
  Shape shape = Shape::kText;
  std::string_view meaning;
  const Member* member = nullptr;
  // The default, as written in a config, of a row without a member or whose member has none.
  std::string_view fallback = {};
  std::string_view unit = {};  // unit in which the member's default is shown; empty: the largest
  // Allowed words, as "pause|fail"; for other shapes: words allowed in addition.
  std::string_view words = {};
  std::int64_t low = 0;                // of numbers; durations in milliseconds, sizes in bytes
  std::int64_t high = 0;               // 0: no bound
  std::span<const Field> fields = {};  // of a map: its fields; of a list or dictionary: its value
  std::string_view short_form = {};    // of a map: the field that a plain value sets
  std::string_view usual = {};         // of a map: the alternative used where none is written
  bool required = false;
  bool alternative = false;      // at most one of the alternatives of a map may be written
  bool one_of = false;           // of a map: one alternative is required
  bool comma = false;            // of a list: may be one text with commas
  bool single = false;           // of a list: may be a single plain value
  bool secret = false;           // never shown
  bool address = false;          // of a server: a password in it is never shown
  bool optional = false;         // of a map: without it none of its defaults apply
  std::string_view unless = {};  // its default does not apply where this sibling is written
  std::string_view look = {};    // how a value looks; empty: its default shows it
};

// The whole file.
const Field& schema() noexcept;

// The default, as written in a config; empty: there is none.
std::string default_of(const Field& field);

const Field* find_field(const Field& map, std::string_view name) noexcept;
std::vector<std::string_view> split_words(std::string_view words);
// "a, b or c".
std::string list_words(std::span<const std::string_view> words);
std::string_view shape_name(Shape shape) noexcept;  // "duration"
bool is_leaf(const Field& field) noexcept;

// Calls `see` with each field and its path, "consumers[].retry.attempts", in the table's order.
void each_field(const std::function<void(const std::string& path, const Field& field)>& see);

}  // namespace semel::config
