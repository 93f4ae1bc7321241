#include "benchmarks/measure.h"

#include <fmt/format.h>
#include <sys/utsname.h>
#include <sys/vfs.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <thread>
#include <utility>

namespace semel::bench {

namespace {

std::string& running() {
  static std::string what;
  return what;
}

}  // namespace

void set_running(std::string what) { running() = std::move(what); }

void give_up(const std::string& why) {
  std::fflush(stdout);  // The message comes last.
  const std::string& where = running();
  fmt::print(stderr, "benchmark failed: {}{}{}\n", where, where.empty() ? "" : ": ", why);
  std::exit(70);
}

void check_count(std::size_t done, std::size_t wanted, std::string_view what) {
  if (done != wanted) give_up(fmt::format("{} of {} {}", done, wanted, what));
}

double ProcessorWatch::now() {
  timespec time{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
}

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

double p99(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto at = values.begin() + static_cast<std::ptrdiff_t>(values.size() * 99 / 100);
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

double spread(const std::vector<double>& values) {
  if (values.size() < 2) return 0;
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  return (*most - *least) / 2 / median(values);
}

namespace {

std::string processor() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    if (!line.starts_with("model name")) continue;
    return line.substr(line.find(':') + 2);
  }
  return "unknown processor";
}

std::string load() {
  std::ifstream averages("/proc/loadavg");
  std::string one, five, fifteen;
  averages >> one >> five >> fifteen;
  return fmt::format("{} {} {}", one, five, fifteen);
}

}  // namespace

std::vector<std::string> machine(const std::string& folder) {
  utsname system{};
  ::uname(&system);
  struct statfs files {};
  const bool known = ::statfs(folder.c_str(), &files) == 0;
  return {fmt::format("{} x {}, {} {}", std::thread::hardware_concurrency(), processor(),
                      system.sysname, system.release),
          fmt::format("data in {} (file system type {:#x})", folder, known ? files.f_type : 0),
          fmt::format("load average before: {}", load())};
}

}  // namespace semel::bench
