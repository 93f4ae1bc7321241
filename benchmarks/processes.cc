#include "benchmarks/processes.h"

#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <vector>

#include <semel/sqlite.h>

#include "benchmarks/by_hand.h"
#include "benchmarks/consumer.h"
#include "benchmarks/measure.h"
#include "benchmarks/workload.h"

namespace semel::bench {

namespace {

// A process of this program, told to go by a byte and answering with two numbers.
struct Member {
  pid_t pid = 0;
  std::FILE* told = nullptr;    // to it
  std::FILE* answer = nullptr;  // from it
};

Member start_member(const std::string& path, const std::string& name, double seconds) {
  int to[2], from[2];
  if (::pipe(to) != 0 || ::pipe(from) != 0) give_up("no pipe");
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::dup2(to[0], 0);
    ::dup2(from[1], 1);
    for (const int fd : {to[0], to[1], from[0], from[1]}) ::close(fd);
    const std::string time = std::to_string(seconds);
    ::execl("/proc/self/exe", "bench", kPairMember, path.c_str(), name.c_str(), time.c_str(),
            nullptr);
    ::_exit(127);
  }
  ::close(to[0]);
  ::close(from[1]);
  return {pid, ::fdopen(to[1], "w"), ::fdopen(from[0], "r")};
}

MemberRun answer_of(Member& member) {
  MemberRun run;
  if (std::fscanf(member.answer, "%lf %lld", &run.rate, &run.sum) != 2)
    give_up("one of two processes did not answer");
  std::fclose(member.answer);
  std::fclose(member.told);
  ::waitpid(member.pid, nullptr, 0);
  return run;
}

void wait_ready(Member& member) {
  if (std::fgetc(member.answer) != 'r') give_up("one of two processes did not start");
}

// The most it had resident at any time, of the program it is now. The figure of wait4 would be that
// of this process too, as the fork had it.
double peak_mib(pid_t pid) {
  std::ifstream status(fmt::format("/proc/{}/status", pid));
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmHWM:")) return std::atof(line.c_str() + 6) / 1'024;
  }
  return 0;
}

void go(Member& member) {
  std::fputc('g', member.told);
  std::fflush(member.told);
}

}  // namespace

std::pair<MemberRun, MemberRun> run_pair(const std::string& path, double seconds) {
  Member first = start_member(path, "first", seconds);
  Member second = start_member(path, "second", seconds);
  wait_ready(first);
  wait_ready(second);
  go(first);
  go(second);
  const MemberRun one = answer_of(first);
  const MemberRun two = answer_of(second);
  return {one, two};
}

int run_pair_member(int argc, char** argv) {
  if (argc != 5) return 64;
  const std::string name = argv[3];
  const double seconds = std::atof(argv[4]);
  SqliteOptions options;
  options.path = argv[2];
  auto store = open_sqlite(std::move(options));
  if (!store) give_up(store.error().message);
  constexpr std::size_t kMoreThanEnough = 300'000;
  auto payloads = make_payloads(static_cast<std::size_t>(seconds * kMoreThanEnough), Keys::kOrdered,
                                name == "first" ? 1'001 : 1'002);
  ConsumerRun run;
  run.name = name;
  run.handler = effect_handler();
  run.seconds = seconds;
  std::putchar('r');
  std::fflush(stdout);
  if (std::getchar() != 'g') return 70;
  Tally tally;
  const double rate = consume(**store, run, payloads, &tally);
  payloads.resize(tally.acked);
  std::printf("%f %lld\n", rate, sum_of_amounts(payloads));
  std::fflush(stdout);
  return 0;
}

FileRun run_file(const std::string& program, const std::string& folder, const std::string& path,
                 std::size_t bytes) {
  const std::string messages = folder + "/messages.jsonl";
  const std::string config = folder + "/semel.yaml";
  FileRun run;
  {
    std::ofstream out(messages, std::ios::binary);
    constexpr std::size_t kMost = 50'000;
    const std::size_t part = std::min(kMost, bytes / kPayload);
    for (std::size_t written = 0, seed = 5'000; written < bytes; ++seed) {
      const auto lines = make_payloads(part, Keys::kOrdered, seed);
      run.sum += sum_of_amounts(lines);
      for (const std::string& line : lines) {
        out << line << '\n';
        written += line.size() + 1;
      }
    }
    std::ofstream(config) << fmt::format(
        "store: {{ sqlite: {{ path: {} }} }}\n"
        "consumers:\n"
        "  - name: payments\n"
        "    source: {{ file: {{ path: {} }} }}\n"
        "    key: {{ from: [json:/id] }}\n"
        "    handler:\n"
        "      sql:\n"
        "        params: {{ amount: json:/amount, account: json:/account }}\n"
        "        statements: [\"{}\"]\n",
        path, messages, kEffect);
  }
  const Stopwatch watch;
  // Not by fork: until its exec the child would show the memory of this process.
  std::string words[] = {"semel", "run", config, "--once", "-q"};
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  pid_t pid = 0;
  if (::posix_spawn(&pid, program.c_str(), nullptr, nullptr, arguments.data(), environ) != 0) {
    give_up(program + " cannot be run");
  }
  int status = 0;
  while (::waitpid(pid, &status, WNOHANG) == 0) {
    run.peak_mib = std::max(run.peak_mib, peak_mib(pid));
    ::usleep(10'000);
  }
  run.seconds = watch.seconds();
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    give_up(fmt::format("{} run ended with {:#x}", program, status));
  }
  return run;
}

}  // namespace semel::bench
