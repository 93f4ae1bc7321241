// A run that is watched: what taps see, and that they cannot influence it.
#include "tap/server.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>

#include "tests/support/builders.h"
#include "tests/support/temp_dir.h"

namespace semel::tap {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds kPatience{60'000};
constexpr ConsumerNumber kConsumer{1};

// The other end, byte by byte.
class Client {
 public:
  explicit Client(system::Descriptor socket) : socket_(std::move(socket)) {}

  // False where the other end has closed.
  bool may_say(std::string_view bytes) {
    return ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) ==
           static_cast<ssize_t>(bytes.size());
  }
  void say(std::string_view bytes) { EXPECT_TRUE(may_say(bytes)); }
  // The next line; nullopt where the other end has closed.
  std::optional<std::string> line() {
    for (;;) {
      const std::size_t end = heard_.find('\n', scanned_);
      if (end != std::string::npos) {
        std::string line = heard_.substr(begin_, end - begin_);
        begin_ = scanned_ = end + 1;
        return line;
      }
      scanned_ = heard_.size();
      char piece[4096];
      pollfd fd{socket_.get(), POLLIN, 0};
      if (::poll(&fd, 1, static_cast<int>(kPatience.count())) <= 0) return "(it took too long)";
      const ssize_t n = ::recv(socket_.get(), piece, sizeof piece, 0);
      if (n <= 0) return std::nullopt;
      heard_.append(piece, static_cast<std::size_t>(n));
    }
  }
  template <class T>
  std::optional<T> next() {
    const auto line = this->line();
    if (!line) return std::nullopt;
    LineParser parser;
    auto said = parser.said(*line);
    EXPECT_TRUE(said && std::holds_alternative<T>(*said)) << *line;
    if (!said || !std::holds_alternative<T>(*said)) return std::nullopt;
    return std::get<T>(std::move(*said));
  }

 private:
  system::Descriptor socket_;
  std::string heard_;
  std::size_t begin_ = 0;
  std::size_t scanned_ = 0;
};

class ServerTest : public ::testing::Test {
 protected:
  ServerTest() { open({}); }

  void open(ServerOptions options) {
    server_.reset();
    options.database = dir_.file("semel.db");
    options.consumers = {"payments", "emails"};
    auto opened = Server::open(std::move(options));
    ASSERT_TRUE(opened) << opened.error().message;
    server_ = *std::move(opened);
  }
  Client connect() {
    const auto place = SocketDirectory::beside(dir_.file("semel.db"));
    auto connected = place->connect(place->names().at(0));
    EXPECT_EQ(connected.reach, SocketDirectory::Reach::kThere);
    return Client(std::move(connected.socket));
  }
  // A client that was welcomed.
  Client watch(const Request& request) {
    Client client = connect();
    client.say(line_of(request));
    const auto hello = client.next<Hello>();
    EXPECT_TRUE(hello && hello->pid == ::getpid());
    return client;
  }
  void end(std::string_view consumer, std::string_view key,
           Outcome::Kind kind = Outcome::Kind::kDone, std::string_view payload = "{}") {
    Outcome outcome;
    outcome.kind = kind;
    outcome.attempt = 1;
    server_->on_ended(consumer, test::make_delivery(kConsumer, key, payload), outcome,
                      std::chrono::microseconds(5));
  }

  // More than any socket buffer holds.
  void end_many() {
    const std::string payload(1'000, 'x');
    for (int i = 0; i < kMany; ++i) {
      end("payments", std::to_string(i), Outcome::Kind::kDone, payload);
    }
  }

  static constexpr int kMany = 500;
  test::TempDir dir_;
  std::unique_ptr<Server> server_;
};

TEST_F(ServerTest, ShowsEndingsOfTheConsumerThatIsWatched) {
  end("payments", "before");
  Client client = watch({"payments"});
  end("emails", "other");
  const auto before = std::chrono::system_clock::now();
  end("payments", "p-1");
  const auto after = std::chrono::system_clock::now();
  const auto event = client.next<DeliveryEvent>();
  ASSERT_TRUE(event);
  EXPECT_EQ(event->key, "p-1");
  EXPECT_EQ(event->payload, std::nullopt);
  EXPECT_EQ(event->attempt, 1);
  EXPECT_GE(event->at, std::chrono::floor<std::chrono::milliseconds>(before));
  EXPECT_LE(event->at, after);
}

TEST_F(ServerTest, EachSeesWhatItAskedFor) {
  Client dead = watch({"payments", {Outcome::Kind::kDead, Outcome::Kind::kConflict}});
  Client whole = watch({"payments", {}, true});
  end("payments", "p-1", Outcome::Kind::kDone, "one");
  end("payments", "p-2", Outcome::Kind::kConflict, "two");
  server_->on_refused("payments", test::make_arrival("junk", "queue", "3"), "key.missing", "none");
  EXPECT_EQ(dead.next<DeliveryEvent>()->key, "p-2");
  EXPECT_EQ(dead.next<DeliveryEvent>()->reason, "key.missing");
  EXPECT_EQ(whole.next<DeliveryEvent>()->payload, "one");
  EXPECT_EQ(whole.next<DeliveryEvent>()->payload, "two");
  const auto refused = whole.next<DeliveryEvent>();
  EXPECT_EQ(refused->key, std::nullopt);
  EXPECT_EQ(refused->payload, "junk");
}

TEST_F(ServerTest, SaysWhereItDoesNotRunTheConsumer) {
  Client client = connect();
  client.say(line_of(Request{"invoices"}));
  const auto hello = client.next<Hello>();
  ASSERT_TRUE(hello);
  EXPECT_FALSE(hello->has_consumer);
}

TEST_F(ServerTest, RubbishIsRefusedAndTheOthersGoOn) {
  Client good = watch({"payments"});
  for (const std::string& rubbish :
       {std::string("GET / HTTP/1.1\r\n\r\n"), std::string("\n"), std::string("\0\xff\n", 3),
        std::string("{\"semel_tap\":99,\"consumer\":\"payments\"}\n"),
        std::string(2 * kLongestRequest, 'x')}) {
    Client bad = connect();
    bad.say(rubbish);
    EXPECT_TRUE(bad.next<Refusal>()) << rubbish;
    EXPECT_EQ(bad.line(), std::nullopt);
  }
  end("payments", "p-1");
  EXPECT_EQ(good.next<DeliveryEvent>()->key, "p-1");
}

TEST_F(ServerTest, WhoTalksAfterTheRequestIsSentAway) {
  Client client = watch({"payments"});
  client.say("and another thing\n");
  EXPECT_EQ(client.line(), std::nullopt);
}

TEST_F(ServerTest, ARequestInPiecesIsARequest) {
  Client client = connect();
  for (const char byte : line_of(Request{"payments"})) client.say(std::string_view(&byte, 1));
  EXPECT_TRUE(client.next<Hello>());
}

TEST_F(ServerTest, WhoSaysNothingIsSentAwayInTime) {
  ServerOptions options;
  options.request_within = milliseconds{20};
  open(std::move(options));
  Client client = connect();
  (void)client.may_say("{\"semel_tap\":");
  EXPECT_TRUE(client.next<Refusal>());
  EXPECT_EQ(client.line(), std::nullopt);
}

TEST_F(ServerTest, TooManyAreRefusedUntilOneLeaves) {
  std::vector<std::unique_ptr<Client>> clients;
  std::optional<Refusal> refused;
  while (clients.size() < 100 && !refused) {
    Client client = connect();
    (void)client.may_say(line_of(Request{"payments"}));
    const auto line = client.line();
    ASSERT_TRUE(line);
    const auto said = LineParser().said(*line);
    ASSERT_TRUE(said) << *line;
    if (const auto* why = std::get_if<Refusal>(&*said)) refused = *why;
    clients.push_back(std::make_unique<Client>(std::move(client)));
  }
  ASSERT_TRUE(refused);
  EXPECT_NE(refused->why.find("too many"), std::string::npos);
  EXPECT_GE(clients.size(), 5U);
  clients.clear();
  const auto until = steady_clock::now() + kPatience;
  for (bool in = false; !in;) {
    ASSERT_LT(steady_clock::now(), until);
    Client client = connect();
    (void)client.may_say(line_of(Request{"payments"}));
    const auto line = client.line();
    in = line && line->find("\"pid\"") != std::string::npos;
  }
}

TEST_F(ServerTest, ATapThatNeverReadsHoldsNobodyUpAndIsToldWhatItMissed) {
  constexpr std::uint64_t kEndings = 20'000;
  Client idle = watch({"payments", {}, true});
  Client quick = watch({"payments", {Outcome::Kind::kDead}});
  const std::string payload(1'000, 'x');
  for (std::uint64_t i = 0; i < kEndings; ++i) {
    end("payments", std::to_string(i), Outcome::Kind::kDone, payload);
  }
  end("payments", "last", Outcome::Kind::kDead, payload);
  EXPECT_EQ(quick.next<DeliveryEvent>()->key, "last");

  // 20 MB were sent, and far less is kept: the rest is counted.
  std::uint64_t shown = 0, missed = 0;
  LineParser parser;
  while (shown + missed < kEndings + 1) {
    const auto line = idle.line();
    ASSERT_TRUE(line);
    const auto said = parser.said(*line);
    ASSERT_TRUE(said) << *line;
    if (const auto* gap = std::get_if<NotShown>(&*said)) {
      missed += gap->count;
    } else {
      const auto& event = std::get<DeliveryEvent>(*said);
      // In order, and missing ones are missing where the gap was.
      if (event.key != "last") {
        EXPECT_EQ(event.key, std::to_string(shown + missed));
      }
      ++shown;
    }
  }
  EXPECT_EQ(shown + missed, kEndings + 1);
  EXPECT_GT(missed, kEndings / 2);
  EXPECT_GT(shown, 100U);
}

TEST_F(ServerTest, TheEndSendsAllToWhoReadsAndWaitsForNobodyElse) {
  ServerOptions options;
  // Far longer than the test may take.
  options.goodbye = options.longest_goodbye = std::chrono::hours{1};
  open(options);
  Client reads = watch({"payments", {}, true});
  end_many();
  std::thread reader([&] {
    for (int i = 0; i < kMany; ++i) {
      const auto event = reads.next<DeliveryEvent>();
      ASSERT_TRUE(event) << i;
      EXPECT_EQ(event->key, std::to_string(i));
    }
    EXPECT_TRUE(reads.next<Goodbye>());
    EXPECT_EQ(reads.line(), std::nullopt);
  });
  server_.reset();
  reader.join();
  EXPECT_EQ(std::filesystem::is_empty(dir_.path()), true);

  options.goodbye = milliseconds{20};
  open(std::move(options));
  Client never = watch({"payments", {}, true});
  end_many();
  server_.reset();
  EXPECT_EQ(std::filesystem::is_empty(dir_.path()), true);
}

TEST_F(ServerTest, ManyThreadsAndWatchersThatComeAndGo) {
  std::atomic<bool> event{false};
  std::vector<std::thread> workers;
  for (int w = 0; w < 3; ++w) {
    workers.emplace_back([&, w] {
      for (int i = 0; !event; ++i) {
        end(i % 2 == 0 ? "payments" : "emails", std::to_string(w * 1'000'000 + i));
      }
    });
  }
  for (int round = 0; round < 30; ++round) {
    Client client = watch({round % 2 == 0 ? "payments" : "emails"});
    for (int i = 0; i < 5; ++i) ASSERT_TRUE(client.line());
  }
  event = true;
  for (auto& worker : workers) worker.join();
}

TEST_F(ServerTest, WhereNoSocketCanBeMadeItIsSaid) {
  ServerOptions options;
  options.database = dir_.file("no/such/semel.db");
  const auto nowhere = Server::open(std::move(options));
  ASSERT_FALSE(nowhere);
  EXPECT_EQ(nowhere.error().kind, ErrorKind::kUnavailable);
}

}  // namespace
}  // namespace semel::tap
