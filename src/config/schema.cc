#include "config/schema.h"

namespace semel::config {
namespace {

void walk(const Field& field, const std::string& path,
          const std::function<void(const std::string&, const Field&)>& see) {
  for (const auto& child : field.fields) {
    std::string at = path;
    if (field.shape == Shape::kList) {
      at += "[]";
    } else if (field.shape == Shape::kDictionary) {
      at += ".NAME";
    } else {
      at += (path.empty() ? "" : ".") + std::string(child.name);
    }
    see(at, child);
    walk(child, at, see);
  }
}

}  // namespace

std::string default_of(const Field& field) {
  if (!field.fallback.empty() || field.member == nullptr) return std::string(field.fallback);
  return field.member->fallback(field);
}

const Field* find_field(const Field& map, std::string_view name) noexcept {
  for (const auto& field : map.fields) {
    if (field.name == name) return &field;
  }
  return nullptr;
}

std::vector<std::string_view> split_words(std::string_view words) {
  std::vector<std::string_view> out;
  while (!words.empty()) {
    const auto end = words.find('|');
    out.push_back(words.substr(0, end));
    if (end == std::string_view::npos) break;
    words.remove_prefix(end + 1);
  }
  return out;
}

std::string list_words(std::span<const std::string_view> words) {
  std::string out;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i > 0) out += i + 1 == words.size() ? " or " : ", ";
    out += words[i];
  }
  return out;
}

std::string_view shape_name(Shape shape) noexcept {
  switch (shape) {
    case Shape::kMap:
      return "map";
    case Shape::kList:
      return "list";
    case Shape::kDictionary:
      return "map of names";
    case Shape::kText:
    case Shape::kArgument:
      return "text";
    case Shape::kName:
      return "name";
    case Shape::kIdentifier:
      return "identifier";
    case Shape::kCode:
      return "code";
    case Shape::kWord:
      return "word";
    case Shape::kInteger:
      return "integer";
    case Shape::kNumber:
      return "number";
    case Shape::kBoolean:
      return "true or false";
    case Shape::kDuration:
      return "duration";
    case Shape::kDurationRange:
      return "duration..duration";
    case Shape::kSize:
      return "size";
    case Shape::kSql:
      return "SQL";
    case Shape::kPath:
      return "path";
    case Shape::kPointer:
      return "json:/pointer";
    case Shape::kAnswerPointer:
      return "json:/pointer or answer:/pointer";
    case Shape::kKeyPart:
      return "key part";
  }
  return "";
}

bool is_leaf(const Field& field) noexcept {
  return field.shape != Shape::kMap && field.shape != Shape::kList &&
         field.shape != Shape::kDictionary;
}

void each_field(const std::function<void(const std::string&, const Field&)>& see) {
  walk(schema(), "", see);
}

}  // namespace semel::config
