// LeavingPartitions: what a source tells that may have to give partitions to other processes.
#pragma once

#include <cstdint>
#include <vector>

namespace semel::core {

// Implemented by a source beside Source. No method throws.
class LeavingPartitions {
 public:
  virtual ~LeavingPartitions() = default;
  // Generations (Tag::generation) that go to another process, each returned once. No two
  // assignments of this source share a generation. Their deliveries that have not begun are given
  // back, and nothing more of them begins here or is kept in the store: the other process has it,
  // and does not know of rows that come later. By one thread.
  virtual std::vector<std::uint64_t> take_leaving() noexcept = 0;
  // A descriptor that is readable while there are some. The source's own.
  virtual int leaving_fd() const noexcept = 0;

 protected:
  LeavingPartitions() = default;
  LeavingPartitions(const LeavingPartitions&) = default;
  LeavingPartitions& operator=(const LeavingPartitions&) = default;
};

}  // namespace semel::core
