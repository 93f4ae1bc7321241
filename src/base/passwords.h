// Finds passwords in the address of a database, as libpq and others take it, and in a line that
// contains one.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace semel {

struct PasswordSpan {
  std::size_t begin = 0;
  std::size_t size = 0;
};

// The passwords of `scheme://user:password@host`, `?password=…` and `password=…`; in order. In
// doubt it takes too much rather than too little. None is empty.
std::vector<PasswordSpan> passwords_in(std::string_view text);

// `***` instead of each.
std::string without_passwords(std::string_view text);

// As many `*` as the password has characters: later text stays in its column.
std::string blotted_passwords(std::string_view text);

}  // namespace semel
