// AtATerminal: the program as a person has it, with both of its outputs on one terminal.
#pragma once

#include <pty.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/cli/program.h"

namespace semel::test {

class AtATerminal {
 public:
  // `columns`: the terminal's width; 0: a terminal that does not know its width.
  explicit AtATerminal(Words words, unsigned short columns = 0) {
    words.insert(words.begin(), program_path());
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    winsize size{};
    size.ws_col = columns;
    pid_ = ::forkpty(&terminal_, nullptr, nullptr, columns == 0 ? nullptr : &size);
    if (pid_ == 0) {
      ::execv(arguments[0], arguments.data());
      std::_Exit(127);
    }
  }
  ~AtATerminal() {
    if (pid_ > 0) ::kill(pid_, SIGKILL);
    (void)code();
    ::close(terminal_);
  }
  AtATerminal(const AtATerminal&) = delete;
  AtATerminal& operator=(const AtATerminal&) = delete;

  // Reads the output until it contains `text`; false: it ended without.
  bool says(std::string_view text) {
    while (said_.find(text) == std::string::npos) {
      char part[4096];
      const auto count = ::read(terminal_, part, sizeof part);
      if (count <= 0) return false;
      said_.append(part, static_cast<std::size_t>(count));
    }
    return true;
  }
  const std::string& said_so_far() const noexcept { return said_; }
  // The whole output, to its end.
  const std::string& said() {
    while (says("\x01there is no such text")) {
    }
    return said_;
  }
  int code() {
    if (pid_ <= 0) return code_;
    int status = 0;
    if (::waitpid(std::exchange(pid_, 0), &status, 0) > 0 && WIFEXITED(status)) {
      code_ = WEXITSTATUS(status);
    }
    return code_;
  }

 private:
  int terminal_ = -1;
  pid_t pid_ = 0;
  int code_ = -1;
  std::string said_;
};

}  // namespace semel::test
