// CommandArgs: the arguments of a command, in one block of memory.
//
// A batch has hundreds of arguments, most of them short: one string for each would cost more time
// than sending it.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <stdexcept>
#include <vector>

#include <semel/bytes.h>

namespace semel::redis {

// A returned view is valid until the next argument is added.
class CommandArgs {
 public:
  CommandArgs() = default;
  CommandArgs(std::initializer_list<BytesView> args) { append(args); }
  template <class Iterator>
  void assign(Iterator first, Iterator last) {
    *this = {};
    for (; first != last; ++first) push_back(*first);
  }

  // Reserves room for `args` more arguments of `bytes` bytes together.
  void reserve(std::size_t args, std::size_t bytes) {
    ends_.reserve(ends_.size() + args);
    bytes_.reserve(bytes_.size() + bytes);
  }
  void append(std::initializer_list<BytesView> args) {
    for (const BytesView arg : args) push_back(arg);
  }
  void push_back(BytesView arg) {
    bytes_ += arg;
    ends_.push_back(bytes_.size());
  }
  void push_back(char letter) { push_back(BytesView(&letter, 1)); }
  // Adds one argument; `write` appends it piece by piece to the bytes that it is given.
  template <class Write>
  void push_written(Write&& write) {
    write(bytes_);
    ends_.push_back(bytes_.size());
  }

  std::size_t size() const noexcept { return ends_.size(); }
  bool empty() const noexcept { return ends_.empty(); }
  std::size_t bytes() const noexcept { return bytes_.size(); }
  BytesView operator[](std::size_t at) const noexcept {
    const std::size_t begin = at == 0 ? 0 : ends_[at - 1];
    return BytesView(bytes_).substr(begin, ends_[at] - begin);
  }
  BytesView at(std::size_t at) const {
    if (at >= size()) throw std::out_of_range("a command has no such argument");
    return (*this)[at];
  }
  BytesView front() const { return at(0); }

 private:
  Bytes bytes_;
  std::vector<std::size_t> ends_;
};

}  // namespace semel::redis
