#include "config/scalars.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "base/ascii.h"
#include "base/json.h"
#include "config/catalog.h"
#include "config/suggest.h"
#include "core/consumer_name.h"
#include "core/key_recipe.h"

namespace semel::config {
namespace {

struct Unit {
  std::string_view name;
  std::int64_t times;
};
constexpr Unit kTimeUnits[] = {
    {"ms", 1}, {"s", 1'000}, {"m", 60'000}, {"h", 3'600'000}, {"d", 86'400'000}};
constexpr Unit kSizeUnits[] = {
    {"B", 1}, {"KiB", 1LL << 10}, {"MiB", 1LL << 20}, {"GiB", 1LL << 30}};
constexpr std::string_view kDurationLook = "write 500ms, 20s, 5m, 6h or 7d";
constexpr std::string_view kSizeLook = "write 512B, 64KiB, 16MiB or 1GiB";

bool all_digits(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), ascii::is_digit);
}

std::optional<std::int64_t> parse_whole(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

template <std::size_t N>
std::optional<std::int64_t> parse_quantity(std::string_view text, const Unit (&units)[N]) {
  const auto split = std::find_if_not(text.begin(), text.end(), ascii::is_digit) - text.begin();
  const auto number = parse_whole(text.substr(0, static_cast<std::size_t>(split)));
  const auto unit = text.substr(static_cast<std::size_t>(split));
  if (!number) return std::nullopt;
  if (unit.empty() && *number == 0) return 0;
  for (const auto& known : units) {
    if (known.name != unit) continue;
    if (*number > std::numeric_limits<std::int64_t>::max() / known.times) return std::nullopt;
    return *number * known.times;
  }
  return std::nullopt;
}

template <std::size_t N>
std::string show_quantity(std::int64_t value, const Unit (&units)[N]) {
  const Unit* best = &units[0];
  for (const auto& unit : units) {
    if (value != 0 && value % unit.times == 0) best = &unit;
  }
  return fmt::format("{}{}", value / best->times, best->name);
}

// A value as a message may repeat it.
std::string shown(const Setting& setting) {
  const bool hidden = setting.secret || setting.field->secret || setting.field->address;
  return hidden ? "the value" : in_quotes(setting.text);
}

Flaw not_a(const Setting& setting, std::string_view what, std::string help) {
  if (setting.text.empty()) return {"E014", fmt::format("empty, where {} must stand", what), help};
  return {"E014", fmt::format("{} is not {}", shown(setting), what), std::move(help)};
}

std::optional<Flaw> bounded(const Setting& setting, std::int64_t value,
                            const std::function<std::string(std::int64_t)>& show) {
  const auto& field = *setting.field;
  if (value >= field.low && (field.high == 0 || value <= field.high)) return std::nullopt;
  return Flaw{"E015", fmt::format("{} is out of range", shown(setting)),
              field.low == field.high ? "write " + show(field.low)
              : field.high == 0       ? fmt::format("at least {}", show(field.low))
                                : fmt::format("from {} to {}", show(field.low), show(field.high))};
}

std::string show_plain(std::int64_t value) { return std::to_string(value); }

std::optional<Flaw> read_word(const Setting& setting) {
  const auto words = split_words(setting.field->words);
  if (std::find(words.begin(), words.end(), setting.text) != words.end()) return std::nullopt;
  Flaw flaw{"E016", fmt::format("{} is not a word for this", shown(setting)),
            "write " + list_words(words)};
  const auto meant = setting.secret ? std::nullopt : nearest(setting.text, words);
  if (meant) flaw.help = fmt::format("write {} (did you mean \"{}\"?)", list_words(words), *meant);
  return flaw;
}

bool can_be_accepted(std::string_view code) {
  return code == "D102" || std::ranges::any_of(catalog::warning_codes(), [&](const CodePage& page) {
           return page.code == code;
         });
}

std::optional<Flaw> read_code(const Setting& setting) {
  if (can_be_accepted(setting.text)) return std::nullopt;
  return Flaw{"E016", fmt::format("{} cannot be accepted", shown(setting)),
              "write key_recipe, D102, or the code of a warning"};
}

std::optional<Flaw> read_integer(Setting& setting) {
  const auto value = parse_whole(setting.text);
  const bool leading_zero = setting.text.size() > 1 && setting.text[0] == '0';
  if (!value && all_digits(setting.text)) {
    return Flaw{"E015", fmt::format("{} is out of range", shown(setting)),
                fmt::format("from {} to {}", setting.field->low, setting.field->high)};
  }
  if (!value || leading_zero) {
    auto help = leading_zero ? std::string("write it without leading zeros")
                             : std::string("write a whole number");
    if (!setting.field->words.empty()) {
      help += ", or " + list_words(split_words(setting.field->words));
    }
    return not_a(setting, "a whole number", help);
  }
  setting.number = *value;
  return bounded(setting, *value, show_plain);
}

std::optional<Flaw> read_number(Setting& setting) {
  double value = 0;
  const auto* end = setting.text.data() + setting.text.size();
  const auto [stop, problem] = std::from_chars(setting.text.data(), end, value);
  if (problem != std::errc{} || stop != end || !std::isfinite(value)) {
    return not_a(setting, "a number", "write a number such as 0.2");
  }
  setting.real = value;
  const auto& field = *setting.field;
  if (value < static_cast<double>(field.low) || value > static_cast<double>(field.high)) {
    return Flaw{"E015", fmt::format("{} is out of range", shown(setting)),
                fmt::format("from {} to {}", field.low, field.high)};
  }
  return std::nullopt;
}

std::optional<Flaw> read_boolean(Setting& setting) {
  if (setting.text != "true" && setting.text != "false") {
    return Flaw{"E016", fmt::format("{} is neither true nor false", shown(setting)),
                "write true or false: yes, no, on and off are words like any other here"};
  }
  setting.number = setting.text == "true" ? 1 : 0;
  return std::nullopt;
}

std::optional<Flaw> read_duration(Setting& setting) {
  const auto value = parse_duration(setting.text);
  if (!value) {
    std::string help(kDurationLook);
    if (all_digits(setting.text) && !setting.secret) {
      help = fmt::format("say the unit: {}s or {}ms?", setting.text, setting.text);
    }
    if (!setting.field->words.empty()) {
      help += ", or " + list_words(split_words(setting.field->words));
    }
    return not_a(setting, "a duration", std::move(help));
  }
  setting.number = *value;
  return bounded(setting, *value, show_duration);
}

std::optional<Flaw> read_range(Setting& setting) {
  const std::string_view text = setting.text;
  const auto dots = text.find("..");
  const auto low = parse_duration(text.substr(0, dots));
  const auto high = dots == std::string_view::npos ? low : parse_duration(text.substr(dots + 2));
  if (!low || !high) {
    return not_a(setting, "a range of durations", "write the first wait and the longest: 1s..5m");
  }
  setting.number = *low;
  setting.upper = *high;
  if (*low > *high) {
    return Flaw{"E015",
                fmt::format("{}: the first wait is longer than the longest", shown(setting)),
                fmt::format("write {}..{}", show_duration(*high), show_duration(*low))};
  }
  if (auto flaw = bounded(setting, *low, show_duration)) return flaw;
  return bounded(setting, *high, show_duration);
}

std::optional<Flaw> read_size(Setting& setting) {
  const auto value = parse_size(setting.text);
  if (!value) return not_a(setting, "a size", std::string(kSizeLook));
  setting.number = *value;
  return bounded(setting, *value, show_size);
}

constexpr std::string_view kJson = "json:";
constexpr std::string_view kAnswer = "answer:";

// `json.id`, `json/id`: the prefix `json:` with another sign at its end.
bool is_dotted(std::string_view text, std::string_view prefix) {
  const std::string_view scheme = prefix.substr(0, prefix.size() - 1);
  if (!text.starts_with(scheme) || text.size() <= prefix.size()) return false;
  return text[scheme.size()] == '.' || text[scheme.size()] == '/';
}

// `header:Name` where the text has the scheme with another sign or ending: `header.Name`.
std::optional<std::string> meant_header(const Setting& setting) {
  std::string_view rest = setting.text;
  if (setting.secret || !rest.starts_with("header")) return std::nullopt;
  rest.remove_prefix(std::string_view("header").size());
  if (rest.starts_with('s')) rest.remove_prefix(1);
  if (rest.size() < 2 || std::string_view(".:/").find(rest.front()) == std::string_view::npos) {
    return std::nullopt;
  }
  return fmt::format("header:{}", rest.substr(1));
}

// The pointer that was probably meant by the text after `prefix`: a name without a slash, or a path
// with dots.
std::optional<std::string> meant_pointer(const Setting& setting, std::string_view prefix) {
  std::string_view rest = setting.text;
  if (rest.starts_with(prefix)) rest.remove_prefix(prefix.size());
  if (is_dotted(rest, prefix)) rest.remove_prefix(prefix.size());
  if (rest.starts_with("$.")) rest.remove_prefix(2);
  if (rest.starts_with('.')) rest.remove_prefix(1);
  const bool path = std::all_of(rest.begin(), rest.end(), [](char c) {
    return ascii::is_digit(c) || c == '_' || c == '-' || c == '/' || c == '.' ||
           (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  });
  if (setting.secret || rest.empty() || !path) return std::nullopt;
  std::string pointer(rest);
  if (!pointer.starts_with('/')) {
    std::replace(pointer.begin(), pointer.end(), '.', '/');
    pointer.insert(0, "/");
  }
  return std::string(prefix) + pointer;
}

std::optional<Flaw> read_pointer_behind(std::string_view prefix, const Setting& setting) {
  const auto pointer = json::Pointer::parse(std::string_view(setting.text).substr(prefix.size()));
  if (pointer) return std::nullopt;
  const bool bare = !std::string_view(setting.text).substr(prefix.size()).starts_with('/');
  const auto guess = bare ? meant_pointer(setting, prefix) : std::nullopt;
  std::string help = guess ? "write " + *guess : bare ? "" : pointer.error().hint;
  if (help.empty()) help = fmt::format("write {}/field", prefix);
  return Flaw{"E032", fmt::format("{}: {}", shown(setting), pointer.error().message),
              std::move(help)};
}

std::optional<Flaw> read_pointer(const Setting& setting) {
  if (setting.text.starts_with(kJson)) return read_pointer_behind(kJson, setting);
  return Flaw{"E032", fmt::format("{} is not a place in the payload", shown(setting)),
              "write " + meant_pointer(setting, kJson).value_or("json:/field")};
}

std::optional<Flaw> read_answer_pointer(const Setting& setting) {
  if (setting.text.starts_with(kAnswer)) return read_pointer_behind(kAnswer, setting);
  if (is_dotted(setting.text, kAnswer)) {
    return Flaw{"E032", fmt::format("{} is not a place in the answer", shown(setting)),
                "write " + meant_pointer(setting, kAnswer).value_or("answer:/field")};
  }
  return read_pointer(setting);
}

std::optional<Flaw> read_key_part(const Setting& setting) {
  const auto part = core::KeyPart::parse(setting.text);
  if (part) return std::nullopt;
  constexpr std::string_view kWords[] = {
      "cloudevents", "idempotency-key", "webhook-id", "broker_key", "auto", "position", "function"};
  // After json: or $. the rest must be a pointer that lacks only its slash.
  const bool pointer = setting.text.starts_with(kJson) || setting.text.starts_with("$.") ||
                       is_dotted(setting.text, kJson);
  const auto place =
      setting.text.starts_with("json:/") ? std::nullopt : meant_pointer(setting, kJson);
  if (pointer && place) {
    return Flaw{"E032", fmt::format("{} is not a part of a key", shown(setting)),
                "write " + *place};
  }
  if (const auto header = meant_header(setting)) {
    return Flaw{"E032", fmt::format("{} is not a part of a key", shown(setting)),
                "write " + *header};
  }
  std::string help = "write json:/pointer, header:Name, " + list_words(kWords);
  auto meant = setting.secret ? std::nullopt : nearest(setting.text, kWords);
  if (!meant) meant = place;
  if (meant) help += fmt::format(" (did you mean \"{}\"?)", *meant);
  return Flaw{"E032", fmt::format("{} is not a part of a key", shown(setting)), std::move(help)};
}

std::optional<Flaw> read_name(const Setting& setting) {
  if (core::is_name(setting.text)) return std::nullopt;
  std::string offer;
  for (const char c : setting.text) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (letter)
      offer += ascii::lower(c);
    else if (!offer.empty() && (ascii::is_digit(c) || c == '_' || c == '-'))
      offer += c;
    else if (!offer.empty() && c == ' ')
      offer += '_';
  }
  offer.resize(std::min(offer.size(), core::kLongestName));
  auto help = std::string(core::kNameRule);
  if (core::is_name(offer) && !setting.secret) help = fmt::format("write {} ({})", offer, help);
  return Flaw{"E024", fmt::format("{} is not a name", shown(setting)), std::move(help)};
}

std::optional<Flaw> read_identifier(const Setting& setting) {
  const std::string_view text = setting.text;
  const bool begins = !text.empty() && !ascii::is_digit(text.front());
  const bool plain = std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || ascii::is_digit(c) || c == '_';
  });
  if (!begins || !plain || text.size() > core::kLongestName) {
    return Flaw{"E024", fmt::format("{} is not an identifier", shown(setting)),
                "an identifier is [a-z_][a-z0-9_]{0,62}"};
  }
  if (!text.starts_with("pg_")) return std::nullopt;
  return Flaw{"E024", fmt::format("{} belongs to the server", shown(setting)),
              "take a name that does not begin with pg_"};
}

}  // namespace

std::optional<std::int64_t> parse_duration(std::string_view text) {
  return parse_quantity(text, kTimeUnits);
}
std::optional<std::int64_t> parse_size(std::string_view text) {
  return parse_quantity(text, kSizeUnits);
}
std::string show_duration(std::int64_t milliseconds) {
  return milliseconds == 0 ? "0s" : show_quantity(milliseconds, kTimeUnits);
}
std::string show_size(std::int64_t bytes) { return show_quantity(bytes, kSizeUnits); }

std::optional<Flaw> read_value(Setting& setting) {
  const auto& field = *setting.field;
  const auto words = split_words(field.words);
  if (std::find(words.begin(), words.end(), setting.text) != words.end()) {
    setting.word = true;
    return std::nullopt;
  }
  switch (field.shape) {
    case Shape::kWord:
      return read_word(setting);
    case Shape::kCode:
      return read_code(setting);
    case Shape::kInteger:
      return read_integer(setting);
    case Shape::kNumber:
      return read_number(setting);
    case Shape::kBoolean:
      return read_boolean(setting);
    case Shape::kDuration:
      return read_duration(setting);
    case Shape::kDurationRange:
      return read_range(setting);
    case Shape::kSize:
      return read_size(setting);
    case Shape::kPointer:
      return read_pointer(setting);
    case Shape::kAnswerPointer:
      return read_answer_pointer(setting);
    case Shape::kKeyPart:
      return read_key_part(setting);
    case Shape::kName:
      return read_name(setting);
    case Shape::kIdentifier:
      return read_identifier(setting);
    case Shape::kArgument:
      if (setting.text.find('\0') == std::string::npos) return std::nullopt;
      return not_a(setting, "an argument", "remove the NUL byte");
    case Shape::kText:
    case Shape::kSql:
    case Shape::kPath:
      if (setting.text.find_first_not_of(" \t\r\n") == std::string::npos) {
        return not_a(setting, "a " + std::string(shape_name(field.shape)), "write one");
      }
      if (setting.text.find('\0') != std::string::npos) {
        return not_a(setting, "a " + std::string(shape_name(field.shape)), "remove the NUL byte");
      }
      return std::nullopt;
    case Shape::kMap:
    case Shape::kList:
    case Shape::kDictionary:
      break;
  }
  return std::nullopt;
}

}  // namespace semel::config
