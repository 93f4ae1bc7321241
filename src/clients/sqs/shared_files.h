// The files that Amazon's own tools keep credentials in: sections of NAME = VALUE.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace semel::sqs {

// The settings of one profile, the credentials file before the config file; names in lower case.
using Profile = std::map<std::string, std::string>;

// `config_file`: there a profile's section is [profile NAME], but for the default one.
void read_profile(std::string_view text, const std::string& name, bool config_file,
                  Profile& profile);

}  // namespace semel::sqs
