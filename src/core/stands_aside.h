// StandsAside: what a source does while nothing that it brings can begin here.
#pragma once

namespace semel::core {

// Implemented by a source beside Source, where a broker shares its messages out to several
// processes.
class StandsAside {
 public:
  virtual ~StandsAside() = default;
  // True: the broker has back all that is not settled, whether it was handed out or not, so that
  // other processes may have it; the source brings nothing, and what is settled meanwhile may be
  // void. False: it goes on. Thread-safe, and does not wait.
  virtual void stand_aside(bool aside) noexcept = 0;

 protected:
  StandsAside() = default;
  StandsAside(const StandsAside&) = default;
  StandsAside& operator=(const StandsAside&) = default;
};

}  // namespace semel::core
