// Process: one running command, its input and its output.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include <semel/bytes.h>

#include "handlers/exec/spawn.h"

namespace semel::handlers::exec {

// How the command itself ended, independent of processes that it started.
struct ExitStatus {
  std::optional<int> code;
  int signal = 0;  // where there is no code; 0 there: unknown
};

// The last bytes of a stream.
class Tail {
 public:
  void append(std::string_view piece);
  const std::string& text() const noexcept { return text_; }

 private:
  std::string text_;
};

// Owns the process group: the destructor kills the rest of it and collects its leader. Only that
// may block. One thread at a time.
class Process {
 public:
  // `input` lives until end_input or the destructor. `keep`: how many bytes of stdout to keep.
  Process(Spawned spawned, BytesView input, std::size_t keep);
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  // Makes `epoll`, which outlives this, report `id` when move_data or ended have something new.
  // False where the system cannot: then the caller must poll.
  bool watch(int epoll, std::uint64_t id);

  // Moves what the pipes accept and offer now, a bounded amount.
  void move_data();
  void end_input() noexcept { close(spawned_.in); }
  // True when both of its outputs are closed.
  bool silent() const noexcept { return !spawned_.out.valid() && !spawned_.err.valid(); }

  // nullopt while the leader runs. It is not collected, so that its number stays reserved. After it
  // has ended, epoll reports only the output.
  std::optional<ExitStatus> ended();
  void signal_group(int number) const noexcept;

  // The first bytes of stdout, up to `keep`, and the total number.
  Bytes take_output() noexcept { return std::move(output_); }
  std::size_t output_size() const noexcept { return output_size_; }
  const std::string& last_error_output() const noexcept { return errors_.text(); }

 private:
  void feed();
  template <class Take>
  void drain(system::Descriptor& fd, Take take);
  void close(system::Descriptor& fd) noexcept;

  Spawned spawned_;
  system::Descriptor pidfd_;
  int epoll_ = -1;
  BytesView input_;
  std::size_t keep_;
  Bytes output_;
  std::size_t output_size_ = 0;
  Tail errors_;
};

}  // namespace semel::handlers::exec
