// Where passwords stand in the address of a database, as libpq and its like take it, and in a line
// that holds one.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace semel {

struct PasswordSpan {
  std::size_t begin = 0;
  std::size_t size = 0;
};

// Of `scheme://user:password@host`, `?password=…` and `password=…`; in order. Rather too much than
// too little, where it cannot be told. None is empty.
std::vector<PasswordSpan> passwords_in(std::string_view text);

// `***` in the place of each.
std::string without_passwords(std::string_view text);

// As many `*` as the password has characters: what stands behind it stays in its column.
std::string blotted_passwords(std::string_view text);

}  // namespace semel
