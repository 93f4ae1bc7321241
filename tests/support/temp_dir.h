// A directory of its own for a test, gone with the object.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace semel::test {

class TempDir {
 public:
  // Fails the process when none can be made.
  TempDir();
  ~TempDir();
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;

  const std::filesystem::path& path() const noexcept { return path_; }
  std::string file(std::string_view name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

void write_file(const std::string& path, std::string_view content);
void append_file(const std::string& path, std::string_view content);
std::string read_file(const std::string& path);

}  // namespace semel::test
