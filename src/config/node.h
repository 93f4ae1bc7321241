// Node: a config as it was written, before it is interpreted.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/report.h"

namespace semel::config {

struct Node {
  enum class Kind { kNull, kScalar, kList, kMap };
  struct Member;

  Kind kind = Kind::kNull;
  std::string text;  // kScalar; of kNull the word it was written with ("null", "~" or nothing)
  SourceLocation place;
  std::vector<Node> items;
  std::vector<Member> members;
  std::string variables;    // those its text came from
  std::string emptied;      // a variable that is not set, and whose default is empty
  bool secret = false;      // its text came from ${file:…} or ${cred:…}
  bool unresolved = false;  // its text lacks a part; reported already

  Node* find(std::string_view name);
  const Node* find(std::string_view name) const;
};

struct Node::Member {
  std::string name;
  SourceLocation place;
  Node value;
};

inline const Node* Node::find(std::string_view name) const {
  for (const auto& member : members) {
    if (member.name == name) return &member.value;
  }
  return nullptr;
}
inline Node* Node::find(std::string_view name) {
  return const_cast<Node*>(std::as_const(*this).find(name));
}

// A path one level deeper: "consumers[0]" and "key" make "consumers[0].key".
inline std::string join_path(std::string_view path, std::string_view name) {
  return path.empty() ? std::string(name) : std::string(path) + "." + std::string(name);
}
inline std::string join_path(std::string_view path, std::size_t index) {
  return std::string(path) + "[" + std::to_string(index) + "]";
}

}  // namespace semel::config
