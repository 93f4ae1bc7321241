// The promise of docs/sources/http.md in one run: senders of webhooks that send again what was not
// answered, each tenth request twice, and one process that is killed and started again.
#include <arpa/inet.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "system/descriptor.h"
#include "tests/cli/ground.h"
#include "tests/cli/soak.h"
#include "tests/support/server_address.h"

namespace semel::test {
namespace {

// One connection that stays open for as long as it is answered.
class WebhookConnection {
 public:
  explicit WebhookConnection(int port) : port_(static_cast<std::uint16_t>(port)) {}

  // The head of the answer; empty: nobody answered, and it is to be sent again.
  std::string post(std::string_view body) {
    if (!socket_.valid() && !connect()) return {};
    const std::string text = fmt::format(
        "POST /pay HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n\r\n{}", body.size(), body);
    if (::send(socket_.get(), text.data(), text.size(), MSG_NOSIGNAL) !=
        static_cast<ssize_t>(text.size())) {
      return lost();
    }
    return answer();
  }

 private:
  bool connect() {
    socket_ = system::Descriptor(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port_);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const bool there =
        ::connect(socket_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
    if (!there) socket_ = system::Descriptor();
    return there;
  }
  std::string lost() {
    socket_ = system::Descriptor();
    return {};
  }
  std::string answer() {
    constexpr std::string_view kEnd = "\r\n\r\n", kLength = "Content-Length: ";
    std::string read;
    for (;;) {
      char buffer[4096];
      const ssize_t got = ::recv(socket_.get(), buffer, sizeof buffer, 0);
      if (got <= 0) return lost();
      read.append(buffer, static_cast<std::size_t>(got));
      const auto end = read.find(kEnd);
      if (end == std::string::npos) continue;
      const auto length = read.find(kLength);
      const auto size = static_cast<std::size_t>(
          length < end ? std::atoll(read.c_str() + length + kLength.size()) : 0);
      if (read.size() >= end + kEnd.size() + size) return read.substr(0, end);
    }
  }

  const std::uint16_t port_;
  system::Descriptor socket_;
};

// Many senders, each with one request at a time, that give up none.
class WebhookSenders {
 public:
  WebhookSenders(int port, const std::vector<std::string>& bodies) : bodies_(bodies) {
    constexpr std::size_t kSenders = 32;
    for (std::size_t i = 0; i < kSenders; ++i) {
      threads_.emplace_back([this, port] { send_all(port); });
    }
  }
  ~WebhookSenders() {
    ending_ = true;
    for (std::thread& thread : threads_) thread.join();
  }
  WebhookSenders(const WebhookSenders&) = delete;
  WebhookSenders& operator=(const WebhookSenders&) = delete;

  bool are_done() const { return answered_ == bodies_.size(); }
  std::size_t replayed() const { return replayed_; }
  std::size_t refused() const { return refused_; }

 private:
  void send_all(int port) {
    WebhookConnection connection(port);
    for (std::size_t i = next_++; i < bodies_.size(); i = next_++) {
      while (!sent(connection, bodies_[i])) {
        if (ending_) return;
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
      }
    }
  }
  bool sent(WebhookConnection& connection, const std::string& body) {
    const std::string head = connection.post(body);
    if (head.empty()) return false;
    if (!head.starts_with("HTTP/1.1 200")) {
      ++refused_;
      return false;
    }
    if (head.find("Idempotent-Replayed: true") != std::string::npos) ++replayed_;
    ++answered_;
    return true;
  }

  const std::vector<std::string>& bodies_;
  std::atomic<std::size_t> next_{0}, answered_{0}, replayed_{0}, refused_{0};
  std::atomic<bool> ending_{false};
  std::vector<std::thread> threads_;
};

class HttpSoak : public testing::Test {
 protected:
  std::unique_ptr<Program> start() const {
    auto runner = std::make_unique<Program>(Words{"run", ground_.config()});
    EXPECT_TRUE(tells(*runner, "takes requests to /pay")) << runner->err();
    return runner;
  }
  void publish(std::size_t payments) {
    for (std::size_t i = 0; i < payments; ++i) {
      const int amount = static_cast<int>(i % 97) + 1;
      bodies_.push_back(payment(fmt::format("p-{}", i), static_cast<int>(i % 100) + 1, amount));
      sum_ += amount;
      if (i % 10 == 0) bodies_.push_back(bodies_.back());
    }
    published_ = payments;
  }
  SoakEnd end() const {
    return {.source = "http",
            .deliveries = bodies_.size(),
            .published = published_,
            .effects = ground_.number("SELECT COUNT(*) FROM effect"),
            .paid = ground_.number("SELECT COUNT(DISTINCT id) FROM effect"),
            .sum = ground_.sum(),
            .published_sum = sum_};
  }

  const int port_ = free_port();
  const GroundTestBed ground_{
      DatabaseKind::kSqlite,
      fmt::format("    source: {{ http: {{ listen: \"127.0.0.1:{}\", path: /pay }} }}\n"
                  "    key: json:/id\n{}",
                  port_, kPaymentHandler)};
  std::vector<std::string> bodies_;
  std::size_t published_ = 0;
  std::int64_t sum_ = 0;
};

TEST_F(HttpSoak, WebhooksAreTakenByAProcessThatIsKilledAgainAndAgain) {
  constexpr auto kPatience = std::chrono::seconds(300);
  const SoakSize size = soak_size({5'000, 3}, {30'000, 6}, {100'000, 10});
  publish(size.messages * 10 / 11);
  EXPECT_LE(ground_.config_lines(), 22U);
  std::size_t killed = 0, in_mid_work = 0;
  {
    auto runner = start();
    const WebhookSenders senders(port_, bodies_);
    const auto share = static_cast<std::int64_t>(published_ / (size.kills + 1));
    for (std::int64_t next = share; killed < size.kills; ++killed, next += share) {
      ASSERT_TRUE(comes_true([&] { return ground_.last_effect() >= next; }, kPatience))
          << "kill " << killed << '\n'
          << runner->err();
      runner->signal(SIGKILL);
      EXPECT_EQ(runner->wait().signal, SIGKILL);
      if (!senders.are_done()) ++in_mid_work;
      runner = start();
    }
    EXPECT_TRUE(comes_true([&] { return senders.are_done(); }, kPatience)) << runner->err();
    EXPECT_GE(senders.replayed(), bodies_.size() - published_) << "each copy";
    EXPECT_EQ(senders.refused(), 0U);
    const WebhookSenders again(port_, bodies_);
    EXPECT_TRUE(comes_true([&] { return again.are_done(); }, kPatience)) << runner->err();
    EXPECT_EQ(again.replayed(), bodies_.size()) << "nothing happens again";
  }
  EXPECT_EQ(in_mid_work, size.kills) << "the kills come too late";
  SoakEnd told = end();
  told.killed = killed;
  told.in_mid_work = in_mid_work;
  tell_soak(told);
}

}  // namespace
}  // namespace semel::test
