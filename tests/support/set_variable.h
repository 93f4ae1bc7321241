// SetVariable: sets a variable of this process's environment while it lives. The destructor
// restores the previous value for later tests of the same program.
#pragma once

#include <cstdlib>
#include <optional>
#include <string>
#include <utility>

namespace semel::test {

// Only while no other thread reads or changes the environment.
class SetVariable {
 public:
  // No value: the variable is not there.
  SetVariable(std::string name, const std::optional<std::string>& value) : name_(std::move(name)) {
    if (const char* before = std::getenv(name_.c_str())) before_ = before;
    set(value);
  }
  ~SetVariable() { set(before_); }
  SetVariable(const SetVariable&) = delete;
  SetVariable& operator=(const SetVariable&) = delete;

 private:
  void set(const std::optional<std::string>& value) const {
    if (value) {
      ::setenv(name_.c_str(), value->c_str(), 1);
    } else {
      ::unsetenv(name_.c_str());
    }
  }

  const std::string name_;
  std::optional<std::string> before_;
};

}  // namespace semel::test
