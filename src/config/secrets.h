// Finds secrets in a config that others may read.
#pragma once

#include <string>

#include "config/report.h"
#include "config/settings.h"

namespace semel::config {

// Also true where there is no such file: then nothing shows that it is private.
bool others_may_read(const std::string& file);

// W037: a file with a certificate's key that every user of this machine may read.
void warn_of_open_key(const Setting& key, const std::string& file, Report& report);

// Written in the config, not taken from a variable or a file.
inline bool is_literal(const Setting& setting) { return !setting.secret && setting.origin.empty(); }

// W031, without the line, which would show the secret.
void warn_of_secret(const Setting& setting, const std::string& what, std::string help,
                    Report& report);

}  // namespace semel::config
