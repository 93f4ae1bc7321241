#include "config/conform.h"

#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "config/scalars.h"
#include "config/unknown_field.h"

namespace semel::config {
namespace {

constexpr std::string_view kDefaults = "defaults";
constexpr std::string_view kConsumersField = "consumers";

std::string_view kind_name(const Node& node) {
  switch (node.kind) {
    case Node::Kind::kNull:
      return "nothing";
    case Node::Kind::kScalar:
      return "a plain value";
    case Node::Kind::kList:
      return "a list";
    case Node::Kind::kMap:
      return "a map";
  }
  return "";
}

std::vector<std::string_view> alternatives_of(const Field& map) {
  std::vector<std::string_view> names;
  for (const auto& field : map.fields) {
    if (field.alternative) names.push_back(field.name);
  }
  return names;
}

std::string field_names(const Field& map) {
  std::vector<std::string_view> names;
  for (const auto& field : map.fields) names.push_back(field.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

bool needs_nothing(const Field& map) {
  for (const auto& field : map.fields) {
    if (field.required) return false;
  }
  return !map.one_of;
}

class Conformer {
 public:
  Conformer(Report& report, bool consumers_optional)
      : report_(report), consumers_optional_(consumers_optional) {}

  Settings run(const Node& root) {
    visit(schema(), root, "");
    return std::move(settings_);
  }

 private:
  void visit(const Field& field, const Node& node, const std::string& path) {
    switch (field.shape) {
      case Shape::kMap:
        visit_map(field, node, path);
        break;
      case Shape::kList:
        visit_list(field, node, path);
        break;
      case Shape::kDictionary:
        visit_dictionary(field, node, path);
        break;
      default:
        visit_leaf(field, node, path);
        break;
    }
  }

  Diagnostic& wrong(std::string_view code, const SourceLocation& place, const std::string& path,
                    const std::string& message) {
    settings_.spoil(path);
    return report_.error(code, place, path, path.empty() ? message : path + ": " + message);
  }

  void visit_map(const Field& field, const Node& node, const std::string& path) {
    const bool bare = node.kind == Node::Kind::kNull && node.text.empty();
    if (node.kind == Node::Kind::kMap || (bare && needs_nothing(field))) {
      settings_.open(path, node.place);
      members(field, node, path);
      return;
    }
    const bool may_be_short = node.kind == Node::Kind::kScalar || node.kind == Node::Kind::kList;
    if (const auto* target = find_field(field, field.short_form);
        target != nullptr && may_be_short &&
        (node.kind == Node::Kind::kScalar || target->shape == Shape::kList)) {
      Node map;
      map.kind = Node::Kind::kMap;
      map.place = node.place;
      map.members.push_back({std::string(field.short_form), node.place, node});
      settings_.open(path, node.place);
      members(field, map, path);
      return;
    }
    not_a_map(field, node, path);
  }

  void not_a_map(const Field& field, const Node& node, const std::string& path) {
    auto& made = wrong(
        "E011", node.place, path,
        path.empty() ? fmt::format("the file holds {}, where a map must stand", kind_name(node))
                     : fmt::format("{}, where a map must stand", kind_name(node)));
    const auto* meant = node.kind == Node::Kind::kScalar ? find_field(field, node.text) : nullptr;
    if (meant != nullptr && meant->alternative && needs_nothing(*meant)) {
      made.help = fmt::format("{}: {{ {}: {{}} }}", field.name, meant->name);
    } else {
      made.help = "fields here: " + field_names(field);
    }
  }

  void members(const Field& field, const Node& node, const std::string& path) {
    bool unknown = false;
    for (const auto& member : node.members) {
      if (find_field(field, member.name) != nullptr) continue;
      unknown = true;
      report_unknown_field(field, member, path, report_);
    }
    if (unknown) settings_.spoil(path);
    check_alternatives(field, node, path, unknown);
    for (const auto& child : field.fields) {
      const auto* value = node.find(child.name);
      const auto at = join_path(path, child.name);
      if (value != nullptr) {
        visit(child, *value, at);
      } else if (!is_default_section(path)) {
        absent(child, node, path, at, unknown);
      }
    }
  }

  static bool is_default_section(const std::string& path) {
    return path == kDefaults || path.starts_with(std::string(kDefaults) + ".");
  }

  void check_alternatives(const Field& field, const Node& node, const std::string& path,
                          bool unknown) {
    const Node::Member* first = nullptr;
    for (const auto& member : node.members) {
      const auto* child = find_field(field, member.name);
      if (child == nullptr || !child->alternative) continue;
      if (first == nullptr) {
        first = &member;
        continue;
      }
      if (member.name == first->name) continue;
      wrong("E018", member.place, path,
            fmt::format("{} and {} stand together", in_quotes(first->name), in_quotes(member.name)))
          .help = "keep one of them";
    }
    if (first != nullptr) return;
    if (const auto* usual = find_field(field, field.usual)) fill_map(*usual, path);
    if (!field.one_of) return;
    if (unknown) {
      settings_.spoil(path);
      return;
    }
    wrong("E018", node.place, path, "none of its kinds is chosen").help =
        "write one of " + list_words(alternatives_of(field));
  }

  bool is_required(const Field& field, const std::string& path) const {
    return field.required && !(consumers_optional_ && path == kConsumersField);
  }

  void absent(const Field& field, const Node& parent, const std::string& parent_path,
              const std::string& path, bool unknown) {
    if (is_required(field, path)) {
      settings_.spoil(path);
      // An unknown field next to a missing one is probably its misspelling: report one error for
      // one cause.
      if (unknown && field.shape != Shape::kList) return;
      report_.error("E017", parent.place, path, fmt::format("{} is missing", path)).help =
          missing_help(field, parent_path);
      return;
    }
    if (!field.unless.empty() && parent.find(field.unless) != nullptr) return;
    fill(field, path);
  }

  static std::string missing_help(const Field& field, const std::string& parent_path) {
    if (field.one_of) {
      std::vector<std::string> ways;
      for (const auto name : alternatives_of(field))
        ways.push_back(fmt::format("{{ {}: … }}", name));
      const std::vector<std::string_view> words(ways.begin(), ways.end());
      return fmt::format("{}: {}", field.name, list_words(words));
    }
    if (field.shape == Shape::kList && parent_path.empty()) {
      return "write at least one consumer (semel init prints a starter); without any, only the "
             "commands that open the store read the file: semel store init";
    }
    return fmt::format("add {}: … ({})", field.name, shape_name(field.shape));
  }

  // `field` in the map at `path`, with all its defaults.
  void fill_map(const Field& field, const std::string& path) {
    const auto at = join_path(path, field.name);
    for (const auto& child : field.fields) fill(child, join_path(at, child.name));
  }

  void fill(const Field& field, const std::string& path) {
    if (field.alternative || field.optional) return;
    if (field.shape == Shape::kMap) {
      const auto* usual = find_field(field, field.usual);
      if (usual != nullptr) fill_map(*usual, path);
      for (const auto& child : field.fields) fill(child, join_path(path, child.name));
      return;
    }
    if (inherit(path)) return;
    std::string fallback = default_of(field);
    if (fallback.empty()) return;
    Setting setting;
    setting.field = &field;
    setting.path = path;
    setting.from = Setting::From::kDefault;
    setting.text = std::move(fallback);
    if (is_leaf(field)) {
      read_value(setting);  // the table's own values are right: a test reads them all
    } else {
      setting.word = true;
    }
    settings_.add(std::move(setting));
  }

  // Takes values from `defaults:`, if the path is a consumer's.
  bool inherit(const std::string& path) {
    constexpr std::string_view kConsumers = "consumers[";
    if (!path.starts_with(kConsumers)) return false;
    const auto dot = path.find("].");
    if (dot == std::string::npos) return false;
    const auto source = join_path(kDefaults, path.substr(dot + 2));
    if (settings_.spoiled(source)) return true;
    const auto* found = settings_.find(source);
    if (found == nullptr) return false;
    Setting copy = *found;
    copy.path = path;
    settings_.add(std::move(copy));
    return true;
  }

  void visit_list(const Field& field, const Node& node, const std::string& path) {
    const auto words = split_words(field.words);
    if (node.kind == Node::Kind::kScalar && !node.unresolved &&
        std::find(words.begin(), words.end(), node.text) != words.end()) {
      Setting setting;
      setting.field = &field;
      setting.path = path;
      setting.place = node.place;
      setting.text = node.text;
      setting.word = true;
      settings_.add(std::move(setting));
      return;
    }
    if (node.kind == Node::Kind::kScalar && field.single) {
      Node list;
      list.kind = Node::Kind::kList;
      list.place = node.place;
      list.items.push_back(node);
      visit_list(field, list, path);
      return;
    }
    if (node.kind == Node::Kind::kScalar && field.comma) {
      visit_list(field, split_commas(node), path);
      return;
    }
    if (node.kind != Node::Kind::kList) {
      auto& made = wrong("E011", node.place, path,
                         fmt::format("{}, where a list must stand", kind_name(node)));
      made.help = field.name == kConsumersField ? "begin each consumer with \"- \""
                                                : fmt::format("{}: [ … ]", field.name);
      if (!words.empty()) made.help += ", or " + list_words(words);
      return;
    }
    if (node.items.empty() && is_required(field, path)) {
      wrong("E017", node.place, path, "the list is empty").help = "write at least one item";
      return;
    }
    settings_.open(path, node.place);
    settings_.set_size(path, node.items.size());
    for (std::size_t i = 0; i < node.items.size(); ++i) {
      visit(field.fields.front(), node.items[i], join_path(path, i));
    }
  }

  static Node split_commas(const Node& node) {
    Node list;
    list.kind = Node::Kind::kList;
    list.place = node.place;
    std::string_view rest = node.text;
    for (;;) {
      const auto comma = rest.find(',');
      auto part = rest.substr(0, comma);
      while (part.starts_with(' ')) part.remove_prefix(1);
      while (part.ends_with(' ')) part.remove_suffix(1);
      Node item = node;
      item.text = part;
      list.items.push_back(std::move(item));
      if (comma == std::string_view::npos) return list;
      rest.remove_prefix(comma + 1);
    }
  }

  void visit_dictionary(const Field& field, const Node& node, const std::string& path) {
    if (node.kind == Node::Kind::kNull && node.text.empty()) return;
    if (node.kind != Node::Kind::kMap) {
      wrong("E011", node.place, path, fmt::format("{}, where a map must stand", kind_name(node)))
          .help = fmt::format("{}: {{ name: value }}", field.name);
      return;
    }
    settings_.open(path, node.place);
    for (const auto& member : node.members) {
      settings_.add_name(path, member.name, member.place);
      visit(field.fields.front(), member.value, join_path(path, member.name));
    }
  }

  void visit_leaf(const Field& field, const Node& node, const std::string& path) {
    if (node.unresolved) {
      settings_.spoil(path);
      return;
    }
    const bool bare = node.kind == Node::Kind::kNull && node.text.empty();
    if (bare || node.kind == Node::Kind::kList || node.kind == Node::Kind::kMap) {
      auto& made =
          wrong("E011", node.place, path,
                fmt::format("{}, where a {} must stand", kind_name(node), shape_name(field.shape)));
      made.help = bare ? "write a value, or remove the field" : look_of(field);
      return;
    }
    Setting setting;
    setting.field = &field;
    setting.path = path;
    setting.place = node.place;
    setting.text = node.text;
    setting.secret = node.secret;
    setting.origin = node.variables;
    if (auto flaw = read_value(setting)) {
      auto& made = wrong(flaw->code, node.place, path, flaw->message);
      made.help = std::move(flaw->help);
      if (node.text.empty() && !node.emptied.empty()) {
        made.help = fmt::format("export {0}, or give a default that is not empty: ${{{0}:-value}}",
                                node.emptied);
      }
      return;
    }
    settings_.add(std::move(setting));
  }

  static std::string look_of(const Field& field) {
    if (!field.look.empty()) return fmt::format("for example {}: {}", field.name, field.look);
    const std::string fallback = default_of(field);
    if (!fallback.empty()) return fmt::format("for example {}: {}", field.name, fallback);
    return fmt::format("write a {}", shape_name(field.shape));
  }

  Report& report_;
  bool consumers_optional_;
  Settings settings_;
};

}  // namespace

Settings conform(const Node& root, Report& report, bool consumers_optional) {
  return Conformer(report, consumers_optional).run(root);
}

}  // namespace semel::config
