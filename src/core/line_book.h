// LineBook: what this process knows of the lines that wait in the store.
//
// What a source or the store says of a line was true when it was asked. If a message of the line
// came to wait meanwhile, the answer is too old: what was received with it would overtake. So each
// question has a number, and each line the last question that was open when it stopped. Pure; not
// thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <string_view>
#include <unordered_map>

#include <semel/bytes.h>

namespace semel::core {

class LineBook {
 public:
  using Question = std::uint64_t;

  // A question begins. The first one is 1.
  Question ask() noexcept { return ++asked_; }

  // A message of the line comes again: the store has it, and all that follows waits behind it.
  void stopped(BytesView line) { lines_[Bytes(line)] = asked_; }
  // The store was found to have rows of it.
  void held(BytesView line) { lines_.try_emplace(Bytes(line), 0); }
  // The answer to `asked` was that the store has none; false where that is too old.
  bool free(BytesView line, Question asked);
  // The answer to `asked` was that these are all lines that the store has.
  void only(const std::set<Bytes>& lines, Question asked);

  // What comes from outside may have to go behind others.
  bool may_wait(BytesView line) const { return find(line) != lines_.end(); }
  // What the answer to `asked` gave of the line may run.
  bool fresh(BytesView line, Question asked) const;

  std::size_t size() const noexcept { return lines_.size(); }

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const noexcept {
      return std::hash<std::string_view>{}(text);
    }
  };
  using Lines = std::unordered_map<Bytes, Question, Hash, std::equal_to<>>;
  Lines::const_iterator find(BytesView line) const { return lines_.find(line); }

  Question asked_ = 0;
  Lines lines_;  // to the last question asked before it stopped
};

}  // namespace semel::core
