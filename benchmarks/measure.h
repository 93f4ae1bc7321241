// Times, medians and the machine they were taken on.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace semel::bench {

// Discards the run: prints where it failed and why, and exits.
[[noreturn]] void give_up(const std::string& why);
// Gives up unless the counts are equal: "3 of 5 keys were new", with `what` behind the numbers.
void check_count(std::size_t done, std::size_t wanted, std::string_view what);
// Names the case and side that run from now on, for give_up(). Not thread-safe.
void set_running(std::string what);

class Stopwatch {
 public:
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  }

 private:
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

// Processor seconds of the whole process: what it costs, whoever else is busy on the machine.
class ProcessorWatch {
 public:
  double seconds() const { return now() - begin_; }

 private:
  static double now();
  double begin_ = now();
};

// The value in the middle; of an even number the mean of both.
double median(std::vector<double> values);
// The value that 99 of 100 do not exceed.
double p99(std::vector<double> values);
// Half the distance from the smallest to the largest, as a part of the median.
double spread(const std::vector<double>& values);

// Processor, kernel, file system of `folder`, load, in one line each.
std::vector<std::string> machine(const std::string& folder);

}  // namespace semel::bench
