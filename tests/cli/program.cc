#include "tests/cli/program.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/capability.h>
#include <sqlite3.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <thread>
#include <variant>

#include "base/json.h"

namespace semel::test {

namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds kPoll{2};

[[noreturn]] void give_up(const char* what) {
  std::perror(what);
  std::abort();
}

int memory_file(std::string_view content) {
  const int fd = ::memfd_create("semel-test", MFD_CLOEXEC);
  if (fd < 0) give_up("memfd_create");
  while (!content.empty()) {
    const ssize_t written = ::write(fd, content.data(), content.size());
    if (written < 0) give_up("write");
    content.remove_prefix(static_cast<std::size_t>(written));
  }
  ::lseek(fd, 0, SEEK_SET);
  return fd;
}

std::string content_of(int fd) {
  std::string content;
  char buffer[64 << 10];
  off_t at = 0;
  for (ssize_t n = 0; (n = ::pread(fd, buffer, sizeof buffer, at)) > 0; at += n) {
    content.append(buffer, static_cast<std::size_t>(n));
  }
  return content;
}

std::vector<char*> pointers_to(const Words& words) {
  std::vector<char*> pointers;
  for (const auto& word : words) pointers.push_back(const_cast<char*>(word.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

// Whether the process blocks or catches the signal by now: before that it would end by it.
bool expects(pid_t process, int number) {
  std::ifstream status(fmt::format("/proc/{}/status", process));
  constexpr int kBase = 16;
  for (std::string line; std::getline(status, line);) {
    if (!line.starts_with("SigBlk:") && !line.starts_with("SigCgt:")) continue;
    const auto mask = std::stoull(line.substr(line.find(':') + 1), nullptr, kBase);
    if ((mask >> (number - 1) & 1) != 0) return true;
  }
  return false;
}

Words environment_with(const Words& added) {
  Words all = added;
  for (char** at = ::environ; *at != nullptr; ++at) {
    const std::string_view inherited = *at;
    const std::string_view named = inherited.substr(0, inherited.find('=') + 1);
    const bool other =
        std::ranges::none_of(added, [&](const std::string& one) { return one.starts_with(named); });
    if (other && !inherited.starts_with("SEMEL_")) all.emplace_back(inherited);
  }
  return all;
}

}  // namespace

std::string program_path() { return SEMEL_PROGRAM; }

Program::Program(const Words& words, const StartOptions& options)
    : is_run_(!words.empty() && words.front() == "run") {
  Words all = {options.failpoint.empty() ? SEMEL_PROGRAM : SEMEL_PROGRAM_WITH_FAILPOINTS};
  all.insert(all.end(), words.begin(), words.end());
  Words added = options.environment;
  if (!options.failpoint.empty()) added.push_back("SEMEL_FAILPOINT=" + options.failpoint);
  const Words environment = environment_with(added);
  auto arguments = pointers_to(all);
  auto variables = pointers_to(environment);
  int input[2] = {-1, -1};
  if (options.held_input) {
    if (::pipe2(input, O_CLOEXEC) != 0) give_up("pipe");
  } else {
    input[0] = memory_file(options.input);
  }
  out_ = memory_file({});
  err_ = memory_file({});
  const pid_t parent = ::getpid();
  pid_ = ::fork();
  if (pid_ < 0) give_up("fork");
  if (pid_ == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(1);
    if (!options.folder.empty() && ::chdir(options.folder.c_str()) != 0) ::_exit(126);
    if (options.ordinary) {
      ::prctl(PR_CAPBSET_DROP, CAP_DAC_OVERRIDE);
      ::prctl(PR_CAPBSET_DROP, CAP_DAC_READ_SEARCH);
    }
    ::signal(SIGPIPE, SIG_DFL);
    ::dup2(input[0], STDIN_FILENO);
    ::dup2(options.out.value_or(out_), STDOUT_FILENO);
    ::dup2(err_, STDERR_FILENO);
    ::execve(arguments[0], arguments.data(), variables.data());
    ::_exit(127);
  }
  ::close(input[0]);
  input_ = input[1];
}

Program::~Program() {
  if (runs()) ::kill(pid_, SIGKILL);
  if (!status_) ::waitpid(pid_, nullptr, 0);
  end_input();
  ::close(out_);
  ::close(err_);
}

void Program::signal(int number) {
  const bool asks = number == SIGTERM || number == SIGINT || number == SIGHUP;
  if (asks && is_run_) (void)comes_true([&] { return !runs() || expects(pid_, number); });
  if (runs()) ::kill(pid_, number);
}

void Program::say(std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(input_, text.data(), text.size());
    if (written < 0) give_up("write to the program");
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

void Program::end_input() {
  if (input_ >= 0) ::close(input_);
  input_ = -1;
}

bool Program::runs() {
  if (status_) return false;
  int status = 0;
  if (::waitpid(pid_, &status, WNOHANG) == pid_) status_ = status;
  return !status_;
}

std::string Program::out() const { return content_of(out_); }
std::string Program::err() const { return content_of(err_); }

bool Program::says(std::string_view text, milliseconds patience) {
  const auto until = steady_clock::now() + patience;
  for (;;) {
    const bool ran = runs();
    if (out().find(text) != std::string::npos) return true;
    if (!ran || steady_clock::now() > until) return false;
    std::this_thread::sleep_for(kPoll);
  }
}

Ran Program::wait(milliseconds patience) {
  const auto until = steady_clock::now() + patience;
  while (runs()) {
    if (steady_clock::now() > until) {
      ::kill(pid_, SIGKILL);
      return {-1, 0, out(), err() + "\n(the test killed it: it took too long)"};
    }
    std::this_thread::sleep_for(kPoll);
  }
  Ran ran;
  if (WIFEXITED(*status_)) ran.code = WEXITSTATUS(*status_);
  if (WIFSIGNALED(*status_)) ran.signal = WTERMSIG(*status_);
  ran.out = out();
  ran.err = err();
  return ran;
}

Ran run(const Words& words, const StartOptions& options) { return Program(words, options).wait(); }

bool tells(const Program& program, std::string_view text) {
  return comes_true([&] { return program.err().find(text) != std::string::npos; });
}

bool soaks() { return std::getenv("SEMEL_SOAK") != nullptr; }

std::size_t soak_times(std::size_t in_short) { return soaks() ? in_short * 10 : in_short; }

std::size_t count_of(std::string_view text, std::string_view part) {
  std::size_t count = 0;
  for (std::size_t at = 0; (at = text.find(part, at)) != std::string_view::npos; ++at) ++count;
  return count;
}

TestBed::TestBed(std::string_view consumer) {
  write_file(config(), fmt::format("version: 1\n"
                                   "store: {{ sqlite: {{ path: semel.db }} }}\n"
                                   "consumers:\n"
                                   "  - name: payments\n{}",
                                   consumer));
  // As the sqlite3 shell makes it: not in WAL mode.
  sql("CREATE TABLE account(id INTEGER PRIMARY KEY, balance INTEGER NOT NULL DEFAULT 0);"
      "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100) "
      "INSERT INTO account(id) SELECT i FROM n;");
}

void TestBed::sql(const std::string& text) const {
  sqlite3* connection = nullptr;
  if (sqlite3_open(database().c_str(), &connection) != SQLITE_OK) give_up("sqlite3_open");
  sqlite3_busy_timeout(connection, 30'000);
  char* error = nullptr;
  if (sqlite3_exec(connection, text.c_str(), nullptr, nullptr, &error) != SQLITE_OK) {
    std::fprintf(stderr, "%s: %s\n", text.c_str(), error);
    std::abort();
  }
  sqlite3_close(connection);
}

std::int64_t TestBed::number(const std::string& query) const {
  sqlite3* connection = nullptr;
  sqlite3_stmt* statement = nullptr;
  if (sqlite3_open(database().c_str(), &connection) != SQLITE_OK) give_up("sqlite3_open");
  sqlite3_busy_timeout(connection, 30'000);
  if (sqlite3_prepare_v2(connection, query.c_str(), -1, &statement, nullptr) != SQLITE_OK) {
    std::fprintf(stderr, "%s: %s\n", query.c_str(), sqlite3_errmsg(connection));
    std::abort();
  }
  const std::int64_t number =
      sqlite3_step(statement) == SQLITE_ROW ? sqlite3_column_int64(statement, 0) : -1;
  sqlite3_finalize(statement);
  sqlite3_close(connection);
  return number;
}

std::string TestBed::contents(const std::set<std::string>& but) const {
  sqlite3* connection = nullptr;
  if (sqlite3_open(database().c_str(), &connection) != SQLITE_OK) give_up("sqlite3_open");
  sqlite3_busy_timeout(connection, 30'000);
  const auto rows = [&](const std::string& query) {
    sqlite3_stmt* statement = nullptr;
    sqlite3_prepare_v2(connection, query.c_str(), -1, &statement, nullptr);
    std::vector<std::string> rows;
    while (sqlite3_step(statement) == SQLITE_ROW) {
      std::string& row = rows.emplace_back();
      for (int column = 0; column < sqlite3_column_count(statement); ++column) {
        const auto* const bytes = static_cast<const char*>(sqlite3_column_blob(statement, column));
        row.append(bytes != nullptr ? bytes : "",
                   static_cast<std::size_t>(sqlite3_column_bytes(statement, column)));
        row += '|';
      }
    }
    if (sqlite3_finalize(statement) != SQLITE_OK) give_up("sqlite3_step");
    return rows;
  };
  std::string text;
  for (std::string table :
       rows("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")) {
    table.pop_back();
    if (but.contains(table)) continue;
    text += table + ":\n";
    for (const std::string& row : rows("SELECT * FROM \"" + table + "\"")) text += row + "\n";
  }
  sqlite3_close(connection);
  return text;
}

Ran TestBed::semel(Words words, const StartOptions& options) const {
  words.insert(words.end(), {"-c", config()});
  return run(words, options);
}

std::string payments(std::string_view source, std::string_view strategy) {
  return fmt::format(
      "    source: {}\n"
      "    key: {{ from: [json:/id] }}\n"
      "    strategy: {}\n"
      "    handler:\n"
      "      sql:\n"
      "        params: {{ account: json:/account, amount: json:/amount }}\n"
      "        statements:\n"
      "          - UPDATE account SET balance = balance + :amount WHERE id = :account\n",
      source, strategy);
}

std::string payment(std::string_view id, int account, int amount) {
  return fmt::format("{{\"id\":\"{}\",\"account\":{},\"amount\":{}}}\n", id, account, amount);
}

std::string json_at(std::string_view text, std::string_view pointer) {
  json::Document document;
  if (!document.parse(text)) return "(not JSON)";
  const auto parsed = json::Pointer::parse(pointer);
  const auto scalar = document.at(parsed.value());
  if (!scalar) return "(not JSON)";
  struct Text {
    std::string operator()(const json::Absent&) const { return "(absent)"; }
    std::string operator()(const json::Composite&) const { return "(composite)"; }
    std::string operator()(const json::JsonNull&) const { return "null"; }
    std::string operator()(bool b) const { return b ? "true" : "false"; }
    std::string operator()(const json::Integer& n) const { return std::string(n.written); }
    std::string operator()(const json::Float& d) const { return fmt::format("{}", d.value); }
    std::string operator()(const std::string& s) const { return s; }
  };
  return std::visit(Text{}, *scalar);
}

}  // namespace semel::test
