// Reads the files in which Amazon's own tools store credentials: sections of NAME = VALUE.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace semel::sqs {

// The settings of one profile, with names in lower case; the credentials file takes precedence over
// the config file.
using Profile = std::map<std::string, std::string>;

// `config_file`: in that file, a profile's section is [profile NAME], except for the default one.
void read_profile(std::string_view text, const std::string& name, bool config_file,
                  Profile& profile);

}  // namespace semel::sqs
