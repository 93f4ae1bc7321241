// Process: one running command, what it reads and what it says.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include <semel/bytes.h>

#include "handlers/exec/spawn.h"

namespace semel::handlers::exec {

// How the command itself ended, whatever became of the processes it started.
struct ExitStatus {
  std::optional<int> code;
  int signal = 0;  // where there is no code; 0 there: nobody can say
};

// The last bytes of a stream.
class Tail {
 public:
  void append(std::string_view piece);
  const std::string& text() const noexcept { return text_; }

 private:
  std::string text_;
};

// Owns the process group: the destructor kills what is left of it and collects its leader. Nothing
// here blocks but that. One thread at a time.
class Process {
 public:
  // `input` lives until end_input or the destructor. `keep`: bytes of stdout that are kept.
  Process(Spawned spawned, BytesView input, std::size_t keep);
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  // Has `epoll` tell, with `id`, when move_data or ended have something new; `epoll` outlives this.
  // False where the system cannot: then only asking again helps.
  bool watch(int epoll, std::uint64_t id);

  // Moves what the pipes take and give now, a bounded amount.
  void move_data();
  void end_input() noexcept { close(spawned_.in); }
  // True when both of its outputs are closed.
  bool silent() const noexcept { return !spawned_.out.valid() && !spawned_.err.valid(); }

  // None while the leader runs. It is not collected, so that its number stays taken. After it has
  // ended, epoll tells of the output alone.
  std::optional<ExitStatus> ended();
  void signal_group(int number) const noexcept;

  // The first bytes of stdout, up to `keep`, and how many there were in all.
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
