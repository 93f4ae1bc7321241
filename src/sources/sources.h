// Makes the existing sources. One folder each.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include <semel/environment.h>
#include <semel/result.h>
#include <semel/spi/held_messages.h>
#include <semel/spi/run_markers.h>
#include <semel/spi/source.h>

#include "core/file_spec.h"

namespace semel::sources {

// It ends unless it follows.
inline constexpr SourceTraits kFileTraits{.name = "file"};
inline constexpr SourceTraits kStdinTraits{.name = "stdin", .replays = false, .ends = true};
inline constexpr SourceTraits kQueueTraits{
    .name = "queue", .redelivers = true, .in_store = true, .ends = true};

struct FileOptions : core::FileSpec {
  bool follow = true;  // false: at_end at the end of the file; true: wait for more
  bool saves = true;   // its position; false: the store's position stays unchanged
  static constexpr std::size_t kMaxLine = 64 << 20;
  std::size_t max_line = kMaxLine;  // a longer one is refused as too_large, named by its position
  // How long to retry a file that another process reads: the reservation of a killed reader is free
  // only when the system, or the store's server, has noticed.
  std::chrono::milliseconds patience{2000};
};

// JSON lines. Position = inode, offset and hash of the last line: a file that was replaced or
// rewritten is read from its start, with a notice. One process per consumer and file; a second one
// is refused (R230). An unfinished last line is waited for, or, without `follow`, taken as it is.
Result<std::unique_ptr<Source>> make_file_source(FileOptions options, ConsumerNumber consumer,
                                                 Positions& positions,
                                                 Environment& environment = system_environment());

// Lines of `fd`, which is borrowed. Lines that were read and not settled are lost with the process.
std::unique_ptr<Source> make_stdin_source(int fd = 0);

// The messages the store holds for a consumer: the embedded queue, and every retry. `queue`: yields
// all of them and ends only when nothing is left, including hidden and delayed ones. `hidden`: how
// long a taken message is hidden from others, unless extended. `line_of`: as for
// HeldMessages::take.
std::unique_ptr<Source> make_held_source(HeldMessages& held, ConsumerNumber consumer,
                                         std::chrono::milliseconds hidden,
                                         Environment& environment = system_environment(),
                                         LineOf line_of = {});

}  // namespace semel::sources
