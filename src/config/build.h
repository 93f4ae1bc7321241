// Builds the typed Config from settings, and finds errors of values in combination.
#pragma once

#include <optional>
#include <string>
#include <typeinfo>

#include "config/config.h"
#include "config/report.h"
#include "config/settings.h"

namespace semel::config {

// Builds as much of a Config as the settings allow: the part of a spoilt setting keeps its default,
// so that the checks still find other errors. `store`: used instead of a setting; null: the setting
// is used.
Config build(const Settings& settings, const std::string& folder, Report& report,
             const StoreConfig* store = nullptr);

// The settings of one map, by their names in it.
class View {
 public:
  View(const Settings& settings, std::string path) : settings_(settings), path_(std::move(path)) {}

  std::string path(std::string_view name) const;
  View in(std::string_view name) const { return View(settings_, path(name)); }
  const std::string& path() const noexcept { return path_; }
  const Settings& settings() const noexcept { return settings_; }

  const Setting* find(std::string_view name) const { return settings_.find(path(name)); }
  // The written value, or the default; 0 or empty where it is spoilt or has none.
  std::int64_t number(std::string_view name) const;
  std::size_t size(std::string_view name) const;
  milliseconds duration(std::string_view name) const { return milliseconds(number(name)); }
  std::string text(std::string_view name) const;
  bool written(std::string_view name) const { return settings_.written(path(name)); }
  bool spoiled(std::string_view name) const { return settings_.spoiled(path(name)); }
  SourceLocation place(std::string_view name) const { return settings_.place_of(path(name)); }

  // Assigns each value of this map to the member of `object` that its row names. A spoilt value, or
  // one without a default, leaves the member unchanged.
  template <class T>
  void fill(T& object) const {
    put_into(typeid(T), &object);
  }

 private:
  void put_into(const std::type_info& type, void* object) const;

  const Settings& settings_;
  std::string path_;
};

}  // namespace semel::config
