// Reloads and drains of consumers with an HTTP source.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <atomic>
#include <cstdint>
#include <future>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "compose/compose.h"
#include "config/difference.h"
#include "system/descriptor.h"
#include "tests/support/http_get.h"
#include "tests/support/temp_dir.h"
#include "tests/support/tls.h"
#include "tests/support/waiting.h"

namespace semel::compose {
namespace {

// A port that the system assigns to no other program meanwhile. Only a program that asks to share
// it can listen on it.
class ReservedPort {
 public:
  ReservedPort() : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const int on = 1;
    EXPECT_EQ(::setsockopt(socket_.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on), 0);
    address_.sin_family = AF_INET;
    address_.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address_;
    EXPECT_EQ(::bind(socket_.get(), reinterpret_cast<const sockaddr*>(&address_), size), 0);
    EXPECT_EQ(::getsockname(socket_.get(), reinterpret_cast<sockaddr*>(&address_), &size), 0);
  }
  std::uint16_t number() const noexcept { return ntohs(address_.sin_port); }
  // Plays another program that occupies the port.
  void listen() const { EXPECT_EQ(::listen(socket_.get(), 1), 0); }

 private:
  const system::Descriptor socket_;
  sockaddr_in address_{};
};

std::string http_consumer(std::string_view name, const ReservedPort& port,
                          std::string_view more = "") {
  return fmt::format(
      "  - name: {}\n    source: {{ http: {{ listen: \"127.0.0.1:{}\"{} }} }}\n"
      "    key: json:/id\n    handler: {{ native: work }}\n",
      name, port.number(), more);
}

class HttpReload : public testing::Test {
 protected:
  ~HttpReload() override {
    release();
    if (!run_.joinable()) return;
    service_->stop();
    run_.join();
  }

  config::Config config_of(const std::string& consumers) const {
    auto loaded = config::load_text(
        fmt::format("version: 1\nstore: {{ sqlite: {{ path: {} }} }}\nconsumers:\n{}",
                    folder_.file("semel.db"), consumers),
        "semel.yaml");
    EXPECT_TRUE(loaded.config) << (loaded.diagnostics.empty()
                                       ? std::string()
                                       : config::format(loaded.diagnostics.front(), false));
    return loaded.config.value_or(config::Config{});
  }
  void start(config::Config config) {
    config_ = std::move(config);
    ServiceOptions options;
    options.natives["work"] = {PlainHandler([this](const Message& message, const Attempt&) {
                                 if (message.key().text == "held") {
                                   holds_ = true;
                                   released_.wait(false);
                                 }
                                 return done();
                               }),
                               ApplyHandler()};
    auto built = Service::build(config_, std::move(options));
    ASSERT_TRUE(built) << built.error().message;
    service_ = *std::move(built);
    run_ = std::thread([this] { (void)service_->run(); });
  }
  void release() {
    released_ = true;
    released_.notify_all();
  }
  Result<void> take(const config::Config& next) {
    const config::Difference difference = config::difference(config_, next);
    if (auto fine = service_->check(next, difference); !fine) return fine;
    EXPECT_TRUE(service_->take(std::make_shared<const config::Config>(next), difference));
    config_ = next;
    return {};
  }
  std::string refusal_of(const std::string& consumers) {
    const auto taken = take(config_of(consumers));
    return taken ? "it was taken up" : taken.error().code;
  }
  bool runs(std::string_view name) const {
    return test::comes_true([&] {
      for (const auto& [consumer, phase] : service_->phases()) {
        if (consumer == name && phase == Service::Phase::kRunning) return true;
      }
      return false;
    });
  }
  static int post(const ReservedPort& port, std::string_view id) {
    const std::string body = fmt::format("{{\"id\":\"{}\"}}", id);
    const std::string request = fmt::format(
        "POST / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{}",
        body.size(), body);
    return test::http_answer(test::http_raw(port.number(), request)).status;
  }
  static bool listens(const ReservedPort& port) {
    return test::http_get(port.number(), "/").status == 405;
  }

  const test::TempDir folder_;
  config::Config config_;
  std::atomic<bool> holds_{false};
  std::atomic<bool> released_{false};
  std::unique_ptr<Service> service_;
  std::thread run_;
};

TEST_F(HttpReload, ABeginThatFailsNamesItsConsumer) {
  const ReservedPort own;
  const ReservedPort taken;
  taken.listen();
  ServiceOptions options;
  options.natives["work"] = {PlainHandler([](const Message&, const Attempt&) { return done(); }),
                             ApplyHandler()};
  const auto built = Service::build(config_of(http_consumer("a", own) + http_consumer("b", taken)),
                                    std::move(options));
  ASSERT_FALSE(built);
  EXPECT_EQ(built.error().code, "R320");
  EXPECT_TRUE(built.error().message.starts_with("consumer \"b\": source.http.listen"))
      << built.error().message;
}

// The old listener would be closed for one that never opens.
TEST_F(HttpReload, ASourceThatCouldNotListenIsRefused) {
  const ReservedPort own;
  const ReservedPort taken;
  start(config_of(http_consumer("a", own)));
  taken.listen();
  EXPECT_EQ(refusal_of(http_consumer("a", taken)), "R320");
  EXPECT_EQ(refusal_of(http_consumer("a", own) + http_consumer("b", taken)), "R320");
  EXPECT_EQ(
      refusal_of(http_consumer("a", own, ", tls: { certificate: /none/a.pem, key: /none/a.key }")),
      "R321");
  EXPECT_TRUE(runs("a"));
  EXPECT_TRUE(listens(own));
}

TEST_F(HttpReload, AnAddressOfTheRunIsTakenOverFromTheConsumerThatLeavesIt) {
  const ReservedPort port;
  start(config_of(http_consumer("a", port)));
  ASSERT_TRUE(runs("a"));
  EXPECT_EQ(refusal_of(http_consumer("a", port, ", max_requests: 7")), "it was taken up");
  EXPECT_EQ(refusal_of(http_consumer("b", port)), "it was taken up");
  EXPECT_TRUE(runs("b"));
  EXPECT_TRUE(listens(port));
  std::string everywhere = http_consumer("c", port);
  everywhere.replace(everywhere.find("127.0.0.1"), std::string_view("127.0.0.1").size(), "");
  EXPECT_EQ(refusal_of(everywhere), "it was taken up") << "another address of the same port";
  EXPECT_TRUE(runs("c"));
  EXPECT_TRUE(listens(port));
}

TEST_F(HttpReload, ACertificateThatCanBeUsedIsTakenUp) {
  const ReservedPort port;
  const test::TlsFiles files;
  files.add("a", test::TlsIdentity());
  start(config_of(http_consumer("a", port)));
  EXPECT_EQ(refusal_of(http_consumer("a", port,
                                     fmt::format(", tls: {{ certificate: {}, key: {} }}",
                                                 files.file("a.pem"), files.file("a.key")))),
            "it was taken up");
  EXPECT_TRUE(test::comes_true([&] { return service_->unsettled().empty(); }));
  EXPECT_TRUE(runs("a"));
}

// This holds however long the handlers take, since a sender can use another process meanwhile.
TEST_F(HttpReload, ADrainRefusesWhatComesAndAnswersWhatItHasInHand) {
  const ReservedPort port;
  start(config_of(http_consumer("a", port)));
  auto held = std::async(std::launch::async, [&] { return post(port, "held"); });
  ASSERT_TRUE(test::comes_true([&] { return holds_.load(); }));
  ASSERT_TRUE(service_->drain("a"));
  EXPECT_EQ(post(port, "late"), 503);
  EXPECT_FALSE(released_);
  release();
  EXPECT_EQ(held.get(), 200);
}

}  // namespace
}  // namespace semel::compose
