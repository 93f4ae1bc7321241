#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <optional>
#include <thread>
#include <variant>
#include <vector>

#include <semel/spi/held_messages.h>

#include "base/text_line.h"
#include "cli/command.h"
#include "cli/line_reader.h"
#include "cli/session.h"
#include "cli/text.h"
#include "compose/compose.h"

namespace semel::cli {

namespace {

constexpr std::size_t kBatchMessages = 1'000;
constexpr std::size_t kSendBatchBytes = 4 << 20;
constexpr std::size_t kLongestMessageLine = 64 << 20;
constexpr int kTries = 6;
constexpr std::chrono::milliseconds kBetweenTries{100};

struct SendFlags {
  std::string consumer;
  std::string message = "-";
  std::optional<std::string> key;
  std::uint64_t times = 1;
  std::vector<std::string> headers;
};

// Puts messages into the queue, a durable batch at a time.
class Sender {
 public:
  Sender(Console& console, HeldMessages& queue, ConsumerNumber consumer)
      : console_(console), queue_(queue), consumer_(consumer) {}

  Result<void> add(OutgoingMessage message) {
    bytes_ += message.payload.size();
    batch_.push_back(std::move(message));
    if (batch_.size() >= kBatchMessages || bytes_ >= kSendBatchBytes) return flush();
    return {};
  }

  Result<void> flush() {
    if (batch_.empty()) return {};
    for (int left = kTries;; --left) {
      auto appended = queue_.append(consumer_, batch_);
      if (appended) break;
      // Tries again what was certainly not done; reports all other errors.
      const bool again = appended.error().kind == ErrorKind::kRetryTransaction ||
                         appended.error().kind == ErrorKind::kBlocked;
      if (!again || left == 1) return appended;
      std::this_thread::sleep_for(kBetweenTries);
    }
    sent_ += batch_.size();
    batch_.clear();
    bytes_ = 0;
    console_.progress(fmt::format("{} sent", grouped(sent_)));
    return {};
  }

  std::uint64_t sent() const { return sent_; }

 private:
  Console& console_;
  HeldMessages& queue_;
  ConsumerNumber consumer_;
  std::vector<OutgoingMessage> batch_;
  std::size_t bytes_ = 0;
  std::uint64_t sent_ = 0;
};

std::optional<Headers> parse_headers(Console& console, const std::vector<std::string>& words) {
  Headers headers;
  for (const auto& word : words) {
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos || equals == 0) {
      console.fail(kUsage, fmt::format("--header cannot be \"{}\"", printable(word, 60)),
                   "--header name=value");
      return std::nullopt;
    }
    headers.push_back({word.substr(0, equals), word.substr(equals + 1)});
  }
  return headers;
}

// Sends the message of the command line, or the lines of stdin.
Result<void> send_all(Sender& sender, const SendFlags& flags, const OutgoingMessage& like) {
  const auto send = [&](std::string payload) -> Result<void> {
    OutgoingMessage message = like;
    message.payload = std::move(payload);
    for (std::uint64_t i = 1; i < flags.times; ++i) {
      auto added = sender.add(message);
      if (!added) return added;
    }
    return sender.add(std::move(message));
  };
  if (flags.message != "-") {
    auto sent = send(flags.message);
    return sent ? sender.flush() : sent;
  }
  LineReader lines(0, kLongestMessageLine);
  for (;;) {
    auto line = lines.next();
    if (!line) return failure(std::move(line.error()));
    if (!*line) return sender.flush();
    if (text_line::is_blank(**line)) continue;
    auto sent = send(std::move(**line));
    if (sent && lines.would_wait()) sent = sender.flush();
    if (!sent) return sent;
  }
}

// With --key all lines would be the same message: more than one line is surely a mistake.
Result<void> send_under_key(Sender& sender, SendFlags flags, const OutgoingMessage& like) {
  if (flags.message == "-") {
    LineReader lines(0, kLongestMessageLine);
    std::optional<std::string> only;
    for (;;) {
      auto line = lines.next();
      if (!line) return failure(std::move(line.error()));
      if (!*line) break;
      if (text_line::is_blank(**line)) continue;
      if (only) {
        return failure({ErrorKind::kRejected,
                        {},
                        "--key gives its key to one message, and stdin holds more lines",
                        "leave --key away: the consumer's key recipe finds each one's key"});
      }
      only = std::move(**line);
    }
    if (!only) return {};
    flags.message = std::move(*only);
  }
  return send_all(sender, flags, like);
}

int report_sent(Console& console, const SendFlags& flags, std::uint64_t sent) {
  if (console.text()) {
    if (console.settings().quiet == 0) {
      console.out(fmt::format("{} sent to {}\n", grouped(sent), flags.consumer));
    }
  } else {
    console.out(
        document("send").member("consumer", flags.consumer).member("sent", sent).end_object());
  }
  if (sent == 0) return kNothing;
  console.next("semel run --once");
  return kOk;
}

int send(Console& console, const SendFlags& flags) {
  const auto headers = parse_headers(console, flags.headers);
  if (!headers) return kUsage;
  if (flags.key && flags.key->empty()) {
    return console.fail(kUsage, "--key is empty: a message without a key cannot be known again",
                        "leave it away: the consumer's key recipe finds the key");
  }
  auto config = load_config(console);
  if (!config) return config.error().code;
  const auto consumer = find_consumer(console, *config, flags.consumer);
  if (!consumer) return consumer.error().code;
  if (!std::holds_alternative<config::QueueSource>((*consumer)->source)) {
    return console.fail(kUsage,
                        fmt::format("consumer \"{}\" does not read a queue: nothing can be sent "
                                    "to it",
                                    flags.consumer),
                        "source: { queue: {} }");
  }
  auto session = need_messages(console, open_session(console, std::move(*config), Create::kYes));
  if (!session) return session.error().code;
  const auto* opened = session->config.find(flags.consumer);
  const auto number = compose::attach(*session->store, *opened);
  if (!number) return console.fail(number.error());

  OutgoingMessage like;
  like.headers = *headers;
  like.key = flags.key;
  Sender sender(console, *session->facets.held, *number);
  const auto sent = flags.key ? send_under_key(sender, flags, like) : send_all(sender, flags, like);
  if (sent) return report_sent(console, flags, sender.sent());
  Error error = sent.error();
  error.message += fmt::format("; {} sent before it are in the queue", grouped(sender.sent()));
  const int code = console.fail(error);
  return sender.sent() > 0 && code == kBad ? kPartly : code;
}

}  // namespace

void add_send(Program& program) {
  auto flags = std::make_shared<SendFlags>();
  auto& command = program.command({.name = "send",
                                   .description = "Put messages into a consumer's queue",
                                   .group = "Operate",
                                   .flags = kConfigFlag | kOutput | kQuiet},
                                  [flags](Console& console) { return send(console, *flags); });
  command.add_option("CONSUMER", flags->consumer, "The consumer, as the config names it")
      ->required()
      ->type_name("NAME");
  command
      .add_option("MESSAGE", flags->message, "The message; -: each line of stdin is one (default)")
      ->option_text("JSON|-");
  command.add_option("--key", flags->key, "Its key, in place of what the key recipe would find")
      ->type_name("KEY");
  command
      .add_option("--times", flags->times, "How many times to send each message (default: once)")
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1'000'000}))
      ->option_text("N");
  command.add_option("--header", flags->headers, "A header of the messages; repeatable")
      ->type_name("NAME=VALUE")
      ->allow_extra_args(false);
}

}  // namespace semel::cli
