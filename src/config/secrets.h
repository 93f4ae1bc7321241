// What must not stand in a config that others may read.
#pragma once

#include <string>

#include "config/report.h"
#include "config/settings.h"

namespace semel::config {

// Also where there is no such file: then nobody has said that it is only ours.
bool others_may_read(const std::string& file);

// A file with the key of a certificate that every user of this machine may read: W037.
void warn_of_open_key(const Setting& key, const std::string& file, Report& report);

// Written out, and not taken from a variable or a file.
inline bool is_literal(const Setting& setting) { return !setting.secret && setting.origin.empty(); }

// W031, without the line, which would show what shall not be seen.
void warn_of_secret(const Setting& setting, const std::string& what, std::string help,
                    Report& report);

}  // namespace semel::config
