#include <fmt/format.h>

#include <chrono>
#include <filesystem>
#include <thread>

#include "sources/file/file_source.h"
#include "sources/sources.h"

namespace semel::sources {
namespace {

using std::chrono::milliseconds;

// Resolves links in the directory, but not the file's own name: a link to a file may be changed at
// any time.
Result<std::string> absolute_path(const std::string& path) {
  std::error_code error;
  const std::filesystem::path whole = std::filesystem::absolute(path, error);
  if (path.empty() || error || whole.filename().empty()) {
    return failure(
        {ErrorKind::kRejected, "R231", fmt::format("\"{}\" does not name a file", path), {}});
  }
  const std::filesystem::path folder = std::filesystem::canonical(whole.parent_path(), error);
  if (error) {
    return failure({ErrorKind::kRejected, "R231",
                    fmt::format("the folder of {} cannot be opened: {}", path, error.message()),
                    "make the folder, or check the path; relative ones start at the config file's "
                    "folder"});
  }
  return (folder / whole.filename()).string();
}

Result<std::unique_ptr<Positions::Reservation>> reserve(Positions& positions,
                                                        ConsumerNumber consumer,
                                                        const std::string& path,
                                                        milliseconds patience) {
  constexpr milliseconds kAgain{20};
  for (;; patience -= kAgain) {
    auto reservation = positions.reserve(consumer, path);
    const bool free = reservation || reservation.error().kind != ErrorKind::kBlocked;
    if (free || patience <= milliseconds(0)) return reservation;
    std::this_thread::sleep_for(kAgain);
  }
}

}  // namespace

Result<std::unique_ptr<Source>> make_file_source(FileOptions options, ConsumerNumber consumer,
                                                 Positions& positions, Environment& environment) {
  auto path = absolute_path(options.path);
  if (!path) return failure(std::move(path.error()));
  auto reservation = reserve(positions, consumer, *path, options.patience);
  if (!reservation) {
    Error error = std::move(reservation.error());
    if (error.kind == ErrorKind::kBlocked) {
      error.message =
          fmt::format("{} is being read for this consumer already: {}", *path, error.message);
    }
    return failure(std::move(error));
  }
  auto source = std::make_unique<FileSource>(std::move(options), std::move(*path), consumer,
                                             positions, std::move(*reservation), environment);
  auto opened = source->open();
  if (!opened) return failure(std::move(opened.error()));
  return source;
}

}  // namespace semel::sources
