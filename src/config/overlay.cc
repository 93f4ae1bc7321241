#include "config/overlay.h"

#include <charconv>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "config/schema.h"
#include "config/suggest.h"
#include "config/yaml_reader.h"

namespace semel::config {
namespace {

struct Step {
  std::string name;                  // of a field, or of a consumer
  std::optional<std::size_t> index;  // of a list's item
};

std::optional<std::size_t> parse_index(std::string_view text) {
  std::size_t value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<std::vector<Step>> split_path(std::string_view path) {
  std::vector<Step> steps;
  while (!path.empty()) {
    const auto end = path.find_first_of(".[");
    if (end != 0) {
      steps.push_back({std::string(path.substr(0, end)), std::nullopt});
      path.remove_prefix(std::min(end, path.size()));
    }
    while (path.starts_with('[')) {
      const auto close = path.find(']');
      if (close == std::string_view::npos) return std::nullopt;
      const auto index = parse_index(path.substr(1, close - 1));
      if (!index || steps.empty()) return std::nullopt;
      steps.push_back({{}, index});
      path.remove_prefix(close + 1);
    }
    if (path.empty()) break;
    if (path[0] != '.' || path.size() == 1 || end == 0) return std::nullopt;
    path.remove_prefix(1);
  }
  if (steps.empty()) return std::nullopt;
  return steps;
}

class Setter {
 public:
  Setter(Report& report, const std::string& set, std::string_view origin)
      : report_(report), set_(set), origin_(origin) {
    place_.source = report.add_source(origin_, set);
  }

  void apply(Node& root) {
    const auto equals = set_.find('=');
    const auto steps = split_path(std::string_view(set_).substr(0, equals));
    if (equals == std::string::npos || !steps) {
      fail(shown() + " is not PATH=VALUE",
           "write it as consumers[0].batch.max=10, or consumers.NAME.batch.max=10");
      return;
    }
    Node* at = &root;
    const Field* field = &schema();
    for (const auto& step : *steps) {
      at = step.index ? into_list(*at, *step.index) : into(*at, field, step.name);
      if (at == nullptr) return;
      field = below(field, step);
    }
    put(*at, set_.substr(equals + 1));
  }

 private:
  std::string shown() const { return fmt::format("{} {}", origin_, in_quotes(set_)); }

  void fail(std::string message, std::string help) {
    report_.error("E023", place_, "", std::move(message)).help = std::move(help);
  }

  static const Field* below(const Field* field, const Step& step) {
    if (field == nullptr) return nullptr;
    if (field->shape == Shape::kList || field->shape == Shape::kDictionary) {
      return &field->fields.front();
    }
    return step.index ? nullptr : find_field(*field, step.name);
  }

  Node* into_list(Node& node, std::size_t index) {
    if (node.kind == Node::Kind::kNull) become(node, Node::Kind::kList);
    if (node.kind != Node::Kind::kList || index > node.items.size()) {
      fail(fmt::format("{}: there is no item {}", shown(), index),
           fmt::format("items are counted from 0, and there are {} now", node.items.size()));
      return nullptr;
    }
    if (index == node.items.size()) node.items.emplace_back().place = place_;
    return &node.items[index];
  }

  Node* into(Node& node, const Field* field, const std::string& name) {
    if (node.kind == Node::Kind::kList) return by_name(node, name);
    if (node.kind == Node::Kind::kScalar && field != nullptr && !field->short_form.empty()) {
      Node inner = std::exchange(node, {});
      become(node, Node::Kind::kMap);
      node.members.push_back({std::string(field->short_form), inner.place, inner});
    }
    if (node.kind != Node::Kind::kMap) become(node, Node::Kind::kMap);
    if (auto* found = node.find(name)) return found;
    drop_other_alternatives(node, field, name);
    Node fresh;
    fresh.place = place_;
    node.members.push_back({name, place_, std::move(fresh)});
    return &node.members.back().value;
  }

  // Over a file with store.sqlite, store.memory.max_records=5 selects memory rather than both.
  static void drop_other_alternatives(Node& node, const Field* field, const std::string& name) {
    if (field == nullptr || field->shape != Shape::kMap) return;
    const auto* chosen = find_field(*field, name);
    if (chosen == nullptr || !chosen->alternative) return;
    std::erase_if(node.members, [&](const Node::Member& member) {
      const auto* other = find_field(*field, member.name);
      return other != nullptr && other->alternative;
    });
  }

  Node* by_name(Node& list, const std::string& name) {
    std::vector<std::string_view> names;
    for (auto& item : list.items) {
      auto* found = item.find("name");
      if (found == nullptr) continue;
      if (found->text == name) return &item;
      names.push_back(found->text);
    }
    const auto meant = nearest(name, names);
    fail(fmt::format("{}: nothing here is named {}", shown(), in_quotes(name)),
         meant ? fmt::format("did you mean {}?", in_quotes(*meant))
               : "use a name of the file, or a number: consumers[0]");
    return nullptr;
  }

  void become(Node& node, Node::Kind kind) {
    node = Node{};
    node.kind = kind;
    node.place = place_;
  }

  void put(Node& node, const std::string& value) {
    if (!value.starts_with('{') && !value.starts_with('[')) {
      become(node, Node::Kind::kScalar);
      node.text = value;
      return;
    }
    Report inner(origin_, value);
    auto read = read_yaml(value, 0, inner);
    if (!read) {
      fail(fmt::format("{}: {}", shown(), inner.take().front().message),
           "write the value as in the file, for example {from: json:/id}");
      return;
    }
    settle(*read);
    node = std::move(*read);
  }

  // A command line has no lines that an excerpt could show.
  void settle(Node& node) {
    node.place = place_;
    for (auto& item : node.items) settle(item);
    for (auto& member : node.members) {
      member.place = place_;
      settle(member.value);
    }
  }

  Report& report_;
  const std::string& set_;
  const std::string origin_;
  SourceLocation place_;
};

}  // namespace

void overlay(Node& root, const std::vector<std::string>& sets, Report& report,
             std::string_view origin) {
  for (const auto& set : sets) Setter(report, set, origin).apply(root);
}

}  // namespace semel::config
