#include "handlers/exec/program.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <optional>
#include <system_error>

namespace semel::handlers::exec {
namespace {

// Returns why `file` cannot be run; nullopt if it can.
std::optional<Error> flaw_of(const std::string& file) {
  struct stat status {};
  const auto flaw = [&](std::string_view what, std::string hint) {
    return Error{ErrorKind::kRejected, "R280", fmt::format("\"{}\" {}", file, what),
                 std::move(hint)};
  };
  if (::stat(file.c_str(), &status) != 0) {
    if (errno != ENOENT && errno != ENOTDIR) {
      return flaw("cannot be run: " + std::generic_category().message(errno), {});
    }
    return flaw("is not there", "a relative path starts at the config's folder");
  }
  if (S_ISDIR(status.st_mode)) return flaw("is a folder, not a program", {});
  if (!S_ISREG(status.st_mode)) return flaw("is not a file that can be run", {});
  if (::faccessat(AT_FDCWD, file.c_str(), X_OK, AT_EACCESS) != 0) {
    return flaw("may not be run by this user", fmt::format("chmod +x {}", file));
  }
  return std::nullopt;
}

}  // namespace

Result<std::string> find_program(const std::string& name, std::string_view path) {
  if (name.find('/') != std::string::npos) {
    if (auto flaw = flaw_of(name)) return failure(*std::move(flaw));
    return name;
  }
  std::optional<Error> near;
  for (;;) {
    const auto colon = path.find(':');
    const std::string_view folder = path.substr(0, colon);
    // POSIX: an empty entry of PATH is the current directory.
    const std::string file = fmt::format("{}/{}", folder.empty() ? "." : folder, name);
    auto flaw = flaw_of(file);
    if (!flaw) return file;
    if (!near && ::access(file.c_str(), F_OK) == 0) near = std::move(flaw);
    if (colon == std::string_view::npos) break;
    path.remove_prefix(colon + 1);
  }
  if (near) return failure(*std::move(near));
  return failure({ErrorKind::kRejected, "R280",
                  fmt::format("there is no program \"{}\" in the folders of PATH", name),
                  name.find(' ') != std::string::npos
                      ? "no shell splits a command: write it as a list, [program, argument]"
                      : "write its path, or add its folder to PATH"});
}

}  // namespace semel::handlers::exec
