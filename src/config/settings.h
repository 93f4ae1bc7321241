// Settings: every effective value of a config, each checked alone, not yet in combination.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "config/report.h"
#include "config/schema.h"

namespace semel::config {

struct Setting {
  enum class From { kWritten, kDefault, kEnvironment };

  const Field* field = nullptr;
  std::string path;
  SourceLocation place;
  From from = From::kWritten;
  std::string origin;  // the environment variables it came from
  std::string text;    // as written, after interpolation
  bool secret = false;
  bool word = false;        // one of the field's words, where the shape allows others too
  std::int64_t number = 0;  // integers, milliseconds, bytes, booleans; a range's first value
  std::int64_t upper = 0;   // a range's second value
  double real = 0;
};

class Settings {
 public:
  void add(Setting setting);
  // Replaces the setting at its path.
  void replace(Setting setting);
  // Notes a map, list or dictionary that was written.
  void open(std::string path, const SourceLocation& place);
  // The length of a list, or the number of names in a dictionary.
  void set_size(const std::string& path, std::size_t size) { sizes_[path] = size; }
  void add_name(const std::string& path, std::string name, const SourceLocation& place);
  // Notes that the value at this path is wrong and was reported.
  void spoil(const std::string& path) { spoiled_.insert(path); }

  const Setting* find(const std::string& path) const;
  // Calls `see` with each setting directly in the map at `path`.
  void each_in(const std::string& path, const std::function<void(const Setting&)>& see) const;
  bool written(const std::string& path) const { return opened_.contains(path); }
  SourceLocation place_of(const std::string& path) const;
  std::size_t size(const std::string& path) const;
  struct Name {
    std::string text;
    SourceLocation place;
  };
  const std::vector<Name>& names(const std::string& path) const;
  bool spoiled(const std::string& path) const { return spoiled_.contains(path); }
  const std::vector<Setting>& all() const noexcept { return settings_; }

 private:
  std::vector<Setting> settings_;
  std::unordered_map<std::string, std::size_t> by_path_;
  std::unordered_map<std::string, std::vector<std::size_t>> by_map_;
  std::unordered_map<std::string, SourceLocation> opened_;
  std::unordered_map<std::string, std::size_t> sizes_;
  std::unordered_map<std::string, std::vector<Name>> names_;
  std::unordered_set<std::string> spoiled_;
};

}  // namespace semel::config
