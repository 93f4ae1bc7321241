#include "config/secrets.h"

#include <filesystem>
#include <system_error>
#include <utility>

#include <fmt/format.h>

namespace semel::config {

bool others_may_read(const std::string& file) {
  std::error_code problem;
  const auto status = std::filesystem::status(file, problem);
  if (problem || !std::filesystem::exists(status)) return true;
  using std::filesystem::perms;
  return (status.permissions() & (perms::group_read | perms::others_read)) != perms::none;
}

void warn_of_secret(const Setting& setting, const std::string& what, std::string help,
                    Report& report) {
  auto& made = report.warning("W031", setting.place, setting.path,
                              fmt::format("{}: {}", setting.path, what));
  made.excerpt.clear();
  made.help = std::move(help);
}

}  // namespace semel::config
