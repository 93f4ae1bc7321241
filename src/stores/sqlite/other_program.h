// OtherProgram: runs SQL on a store's file as another program would, on a connection of its own.
#pragma once

#include <string>
#include <string_view>

#include <semel/statement.h>

struct sqlite3;

namespace semel::sqlite {

// One thread at a time. Throws Failure.
class OtherProgram {
 public:
  // Makes the file where it is missing.
  explicit OtherProgram(const std::string& path);
  ~OtherProgram();
  OtherProgram(const OtherProgram&) = delete;
  OtherProgram& operator=(const OtherProgram&) = delete;

  // Runs any statements one after the other; returns the rows of the last one.
  Rows run(std::string_view statements);

 private:
  [[noreturn]] void raise() const;

  const std::string path_;
  sqlite3* handle_ = nullptr;
};

}  // namespace semel::sqlite
