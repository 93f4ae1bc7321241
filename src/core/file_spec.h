// What a file source is told by its config.
#pragma once

#include <string>

namespace semel::core {

struct FileSpec {
  enum class From {
    kKept,   // where this consumer got to before
    kStart,  // the first line
  };
  std::string path;
  From from = From::kKept;
};

}  // namespace semel::core
