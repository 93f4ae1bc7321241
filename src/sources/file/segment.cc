#include "sources/file/segment.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <memory>
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

// payments.jsonl.1 and payments-0102.jsonl are rotated forms of payments.jsonl; compressed files
// contain no lines.
bool like(const std::filesystem::path& name, const std::filesystem::path& path) {
  static constexpr std::string_view kPacked[] = {".gz", ".bz2", ".xz", ".zst", ".zip", ".lz4"};
  const std::string ending = name.extension().string();
  return name.string().starts_with(path.stem().string()) &&
         std::find(std::begin(kPacked), std::end(kPacked), ending) == std::end(kPacked);
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

std::optional<NamedFile> find_renamed(const std::string& path, const FilePosition& position) {
  const std::string folder = std::filesystem::path(path).parent_path().string();
  const std::unique_ptr<DIR, int (*)(DIR*)> open(::opendir(folder.c_str()), &::closedir);
  if (open == nullptr) return std::nullopt;
  while (const dirent* entry = ::readdir(open.get())) {
    if (entry->d_ino != position.inode) continue;
    if (position.last.span.size() == 0 && !like(entry->d_name, path)) continue;
    std::string name = folder + "/" + entry->d_name;
    auto opened = open_file(name);
    if (!opened || !*opened || (*opened)->status.st_ino != position.inode) continue;
    if (still_there((*opened)->fd.get(), position)) {
      return NamedFile{std::move(name), std::move(**opened)};
    }
  }
  return std::nullopt;
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
