// Rotation: finds files of a path's folder that had the path's name before.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <semel/result.h>

#include "sources/file/segment.h"

namespace semel::sources {

struct NamedFile {
  std::string name;
  OpenFile file;
};

// Finds the file in `path`'s directory that contains the position's last line under its inode:
// `path` before it was renamed. If the position has no line, its name must be like that of `path`.
// Fails (kUnavailable) where that cannot be known now.
Result<std::optional<NamedFile>> find_renamed(const std::string& path,
                                              const FilePosition& position);

struct UnseenFiles {
  std::vector<struct stat> files;  // oldest first; find_renamed opens them
  std::vector<std::string> notices;
};

// Whether a file is open already.
using IsKnown = std::function<bool(const struct stat& file)>;

// Finds the files that had `path`'s name after `before` and lost it before `present` got it.
// A file for which that is unclear is left alone and named in a notice.
Result<UnseenFiles> find_unseen(const std::string& path, const OpenFile& before,
                                const OpenFile& present, const IsKnown& known);

// The rotated file of `path` that was written to last; empty where there is none.
std::string newest_rotated(const std::string& path);

}  // namespace semel::sources
