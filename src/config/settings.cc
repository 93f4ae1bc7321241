#include "config/settings.h"

#include <utility>

namespace semel::config {

void Settings::add(Setting setting) {
  by_path_[setting.path] = settings_.size();
  const auto cut = setting.path.rfind('.');
  by_map_[cut == std::string::npos ? "" : setting.path.substr(0, cut)].push_back(settings_.size());
  settings_.push_back(std::move(setting));
}

void Settings::replace(Setting setting) {
  settings_[by_path_.at(setting.path)] = std::move(setting);
}

void Settings::open(std::string path, const SourceLocation& place) {
  opened_[std::move(path)] = place;
}

void Settings::add_name(const std::string& path, std::string name, const SourceLocation& place) {
  names_[path].push_back({std::move(name), place});
}

const Setting* Settings::find(const std::string& path) const {
  const auto found = by_path_.find(path);
  return found == by_path_.end() ? nullptr : &settings_[found->second];
}

void Settings::each_in(const std::string& path,
                       const std::function<void(const Setting&)>& see) const {
  const auto found = by_map_.find(path);
  if (found == by_map_.end()) return;
  for (const std::size_t at : found->second) see(settings_[at]);
}

SourceLocation Settings::place_of(const std::string& path) const {
  if (const auto* setting = find(path)) return setting->place;
  const auto found = opened_.find(path);
  return found == opened_.end() ? SourceLocation{} : found->second;
}

std::size_t Settings::size(const std::string& path) const {
  const auto found = sizes_.find(path);
  return found == sizes_.end() ? 0 : found->second;
}

const std::vector<Settings::Name>& Settings::names(const std::string& path) const {
  static const std::vector<Name> kNone;
  const auto found = names_.find(path);
  return found == names_.end() ? kNone : found->second;
}

}  // namespace semel::config
