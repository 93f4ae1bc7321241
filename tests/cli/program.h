// The real program, started as a user starts it.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/temp_dir.h"
#include "tests/support/waiting.h"

namespace semel::test {

using Words = std::vector<std::string>;

struct StartOptions {
  std::string input = {};       // on stdin, then its end
  Words environment = {};       // "NAME=value", instead of what is inherited
  std::string failpoint = {};   // as in tests/support/failpoints.h; empty: none
  std::string folder = {};      // where it starts; empty: here
  std::optional<int> out = {};  // its stdout, in place of what is captured
  bool ordinary = false;        // root too is bound by the modes of files
  bool held_input = false;      // stdin is a pipe that stays open until end_input
};

struct Ran {
  int code = -1;    // of the exit; -1 where a signal ended it
  int signal = 0;   // that ended it
  std::string out;  // stdout
  std::string err;
};

// Killed and collected by the destructor.
class Program {
 public:
  explicit Program(const Words& words, const StartOptions& options = {});
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  pid_t pid() const noexcept { return pid_; }
  // A run is first waited for until it is ready for a signal that asks it to end or to reload.
  void signal(int number);
  void say(std::string_view text);
  void end_input();
  bool runs();
  // Its output so far.
  std::string out() const;
  std::string err() const;
  // Waits until `text` stands in its stdout; false when it took too long or ended without.
  bool says(std::string_view text, std::chrono::milliseconds patience = std::chrono::seconds(30));
  Ran wait(std::chrono::milliseconds patience = std::chrono::seconds(120));

 private:
  const bool is_run_;
  pid_t pid_ = -1;
  int input_ = -1;
  int out_ = -1;
  int err_ = -1;
  std::optional<int> status_;
};

// Where the program is, for a test that starts it in a way of its own.
std::string program_path();

Ran run(const Words& words, const StartOptions& options = {});

// Waits until `text` stands in its stderr.
bool tells(const Program& program, std::string_view text);
std::size_t count_of(std::string_view text, std::string_view part);
// Whether these are the long runs: SEMEL_SOAK is set.
bool soaks();
// Ten times as many then.
std::size_t soak_times(std::size_t in_short);

// A folder with a database of the user's, a config over it, and the program.
class TestBed {
 public:
  // `consumer`: what follows `- name: payments` in the config, four blanks deep.
  explicit TestBed(std::string_view consumer);

  std::string file(std::string_view name) const { return folder_.file(name); }
  std::string config() const { return file("semel.yaml"); }
  std::string database() const { return file("semel.db"); }
  void sql(const std::string& text) const;
  std::int64_t number(const std::string& query) const;
  // The rows of all tables but these.
  std::string contents(const std::set<std::string>& but = {}) const;
  // The program with `-c` of this config behind the words.
  Ran semel(Words words, const StartOptions& options = {}) const;

 private:
  TempDir folder_;
};

// The usual payments consumer: `source` as in YAML, an SQL handler that adds to an account.
std::string payments(std::string_view source, std::string_view strategy = "dedup_table");
inline constexpr std::string_view kQueue = "{ queue: {} }";

std::string payment(std::string_view id, int account, int amount);

// The scalar at a JSON pointer, as text; "(absent)" where there is none, "(not JSON)" where `text`
// is no document.
std::string json_at(std::string_view text, std::string_view pointer);

}  // namespace semel::test
