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

// If a group may read the key file, that was granted on purpose, as with Debian's ssl-cert.
void warn_of_open_key(const Setting& key, const std::string& file, Report& report) {
  std::error_code problem;
  const auto status = std::filesystem::status(file, problem);
  if (problem || !std::filesystem::is_regular_file(status)) return;
  using std::filesystem::perms;
  if ((status.permissions() & perms::others_read) == perms::none) return;
  auto& made =
      report.warning("W037", key.place, key.path,
                     fmt::format("{}: every user of this machine may read {}", key.path, file));
  made.help = "chmod 640 " + file;
}

}  // namespace semel::config
