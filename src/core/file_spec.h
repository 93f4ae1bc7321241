// FileSpec: the part of a config that a file source reads.
#pragma once

#include <string>

namespace semel::core {

struct FileSpec {
  enum class From {
    kKept,   // the position that this consumer has stored
    kStart,  // the first line
  };
  std::string path;
  From from = From::kKept;
};

}  // namespace semel::core
