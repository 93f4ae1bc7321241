// FanOut: one observer that forwards to many.
#pragma once

#include <chrono>
#include <cstddef>
#include <string_view>
#include <utility>
#include <vector>

#include <semel/observer.h>

namespace semel::compose {

// Forwards to every observer; the engines know only this one.
class FanOut final : public Observer {
 public:
  explicit FanOut(std::vector<Observer*> observers) : observers_(std::move(observers)) {}
  void on_consumer(const ConsumerInfo& consumer) noexcept override {
    for (Observer* o : observers_) o->on_consumer(consumer);
  }
  void on_received(std::string_view consumer, std::size_t deliveries) noexcept override {
    for (Observer* o : observers_) o->on_received(consumer, deliveries);
  }
  void on_ended(std::string_view consumer, const Delivery& delivery, const Outcome& outcome,
                std::chrono::nanoseconds took) noexcept override {
    for (Observer* o : observers_) o->on_ended(consumer, delivery, outcome, took);
  }
  void on_refused(std::string_view consumer, const Arrival& arrival, std::string_view reason,
                  std::string_view error) noexcept override {
    for (Observer* o : observers_) o->on_refused(consumer, arrival, reason, error);
  }
  void on_held(std::string_view consumer, const Delivery& delivery) noexcept override {
    for (Observer* o : observers_) o->on_held(consumer, delivery);
  }
  void on_letters_expired(std::string_view consumer, std::size_t letters) noexcept override {
    for (Observer* o : observers_) o->on_letters_expired(consumer, letters);
  }
  void on_lease_lost(std::string_view consumer, const Delivery& delivery) noexcept override {
    for (Observer* o : observers_) o->on_lease_lost(consumer, delivery);
  }
  void on_trouble(std::string_view consumer, std::string_view where, const Error& error,
                  bool mended) noexcept override {
    for (Observer* o : observers_) o->on_trouble(consumer, where, error, mended);
  }
  void on_notice(std::string_view consumer, std::string_view text) noexcept override {
    for (Observer* o : observers_) o->on_notice(consumer, text);
  }

 private:
  std::vector<Observer*> observers_;
};

}  // namespace semel::compose
