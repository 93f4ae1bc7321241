// An Observer that records its calls. Thread-safe.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include <semel/observer.h>

namespace semel::test {

class RecordingObserver final : public Observer {
 public:
  struct Ended {
    std::string consumer;
    Bytes key;
    std::string position;
    Outcome outcome;
    std::chrono::nanoseconds took;
  };
  struct Refused {
    std::string consumer;
    std::string position;
    std::string reason;
    std::string error;
  };
  struct Trouble {
    std::string where;
    Error error;
    bool mended;
  };

  void on_received(std::string_view consumer, std::size_t deliveries) noexcept override;
  void on_ended(std::string_view consumer, const Delivery& delivery, const Outcome& outcome,
                std::chrono::nanoseconds took) noexcept override;
  void on_refused(std::string_view consumer, const Arrival& arrival, std::string_view reason,
                  std::string_view error) noexcept override;
  void on_held(std::string_view consumer, const Delivery& delivery) noexcept override;
  void on_lease_lost(std::string_view consumer, const Delivery& delivery) noexcept override;
  void on_trouble(std::string_view consumer, std::string_view where, const Error& error,
                  bool mended) noexcept override;
  void on_notice(std::string_view consumer, std::string_view text) noexcept override;

  std::size_t received() const;
  std::vector<Ended> ended() const;
  // How many deliveries ended so; the second, of one key.
  std::size_t count(Outcome::Kind kind) const;
  std::size_t count(Outcome::Kind kind, BytesView key) const;
  std::vector<Refused> refused() const;
  std::vector<Bytes> held() const;
  std::vector<Bytes> leases_lost() const;
  std::vector<Trouble> troubles() const;
  std::vector<std::string> notices() const;
  bool noticed(std::string_view part) const;

  // Waits until `condition` holds, checking it after each event; false if it took too long. The
  // condition may call the functions above.
  bool wait(const std::function<bool()>& condition,
            std::chrono::milliseconds patience = std::chrono::seconds(20)) const;

 private:
  void happened();

  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  std::size_t events_ = 0;
  std::size_t received_ = 0;
  std::vector<Ended> ended_;
  std::vector<Refused> refused_;
  std::vector<Bytes> held_;
  std::vector<Bytes> leases_lost_;
  std::vector<Trouble> troubles_;
  std::vector<std::string> notices_;
};

}  // namespace semel::test
