#include "sources/file/segment.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "system/descriptor_limit.h"

namespace semel::sources {

namespace {

Error not_a_file(const std::string& path, const struct stat& status) {
  const char* what = S_ISDIR(status.st_mode)    ? "a folder"
                     : S_ISFIFO(status.st_mode) ? "a named pipe"
                     : S_ISSOCK(status.st_mode) ? "a socket"
                                                : "a device";
  std::string hint = "name a regular file of JSON lines";
  if (S_ISFIFO(status.st_mode)) hint = "use the stdin source and redirect the pipe into it";
  return {ErrorKind::kRejected, "R232", fmt::format("{} is {}, not a file of lines", path, what),
          std::move(hint)};
}

Error cannot_open(const std::string& path, int reason) {
  if (reason == EACCES || reason == EPERM) {
    return {ErrorKind::kRejected, "R233", fmt::format("{} may not be read by this user", path),
            fmt::format("chmod +r {}, or run as a user who may read it", path)};
  }
  if (auto none = system::descriptor_limit(reason, path)) return *std::move(none);
  return {ErrorKind::kUnavailable,
          "R234",
          fmt::format("{} cannot be opened: {}", path, std::strerror(reason)),
          {}};
}

// If its last newline is missing, the line may still grow, so it is read again from its start.
bool unfinished(int fd, const LineSpan& span) {
  if (span.size() == 0) return false;
  Bytes last;
  return load_line(fd, {span.end - 1, span.end}, 1, last) && last != "\n";
}

}  // namespace

Result<std::optional<OpenFile>> open_file(const std::string& path) {
  // Without O_NONBLOCK opening a named pipe would wait here for a writer.
  OpenFile opened{system::Descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)), {}};
  if (!opened.fd.valid()) {
    if (errno == ENOENT || errno == ENOTDIR) return std::nullopt;
    return failure(cannot_open(path, errno));
  }
  if (::fstat(opened.fd.get(), &opened.status) != 0) return failure(cannot_open(path, errno));
  if (!S_ISREG(opened.status.st_mode)) return failure(not_a_file(path, opened.status));
  return opened;
}

Segment::Segment(OpenFile opened, std::uint64_t its_number, const FilePosition& position)
    : file(std::move(opened)),
      number(its_number),
      ledger(position.last.span.size() == 0 ? std::nullopt : std::optional(position.last)),
      reader(file.fd.get(),
             unfinished(file.fd.get(), position.last.span) ? position.last.span.begin
                                                           : position.last.span.end,
             position.last.span.end) {}

}  // namespace semel::sources
