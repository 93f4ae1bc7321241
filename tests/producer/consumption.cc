#include "tests/producer/consumption.h"

#include <mutex>

#include <semel/semel.h>

namespace semel::test {
namespace {

class Watcher final : public Observer {
 public:
  explicit Watcher(Consumption& seen) : seen_(seen) {}
  void on_ended(std::string_view, const Delivery&, const Outcome& outcome,
                std::chrono::nanoseconds) noexcept override {
    const std::scoped_lock lock(mutex_);
    ++(outcome.kind == Outcome::Kind::kDone        ? seen_.done
       : outcome.kind == Outcome::Kind::kDuplicate ? seen_.duplicates
                                                   : seen_.others);
  }
  void on_refused(std::string_view, const Arrival&, std::string_view reason,
                  std::string_view error) noexcept override {
    const std::scoped_lock lock(mutex_);
    seen_.complaints.append(reason).append(": ").append(error).append("\n");
  }
  void on_trouble(std::string_view, std::string_view, const Error& error, bool) noexcept override {
    const std::scoped_lock lock(mutex_);
    seen_.complaints.append(error.message).append("\n");
  }
  void worked(const Bytes& key) {
    const std::scoped_lock lock(mutex_);
    ++seen_.effects[key];
  }

 private:
  std::mutex mutex_;
  Consumption& seen_;
};

Consumption consume_all(Runner runner, const std::string& consumer) {
  Consumption seen;
  Watcher watcher(seen);
  runner.on(consumer, [&](const Message& message) {
    watcher.worked(message.key().text);
    return done();
  });
  runner.observe(watcher);
  seen.exit_code = runner.once().run();
  return seen;
}

}  // namespace

Consumption consume(std::string_view source) {
  std::string config =
      "version: 1\nstore: { memory: {} }\nconsumers:\n  - name: receiver\n    key: auto\n"
      "    handler: { native: receiver }\n    strategy: state_machine\n    source: ";
  config.append(source).append("\n");
  return consume_all(Runner::from_text(config), "receiver");
}

Consumption consume_config(const std::string& config, const std::string& consumer) {
  return consume_all(Runner::from_file(config), consumer);
}

}  // namespace semel::test
