// The config of an SQS source, and the rules that its parts must keep. Pure.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <semel/result.h>

#include "core/suspect_group.h"

namespace semel::core {

// A queue's location, taken from its URL.
struct SqsQueueUrl {
  std::string url;       // as it is written
  std::string endpoint;  // where requests go: "https://sqs.eu-west-1.amazonaws.com/"
  std::string host;      // for the header Host: with a port that is not the scheme's own
  std::string region;    // empty where the host does not name one
  std::string name;      // of the queue: the last part of the path
  bool tls = false;

  // Only a FIFO queue's name ends so.
  bool fifo() const noexcept { return name.ends_with(".fifo"); }
};

// Long-lived keys, or those of a session. Without an id they come from the environment.
struct SqsKeys {
  std::string access_key_id;
  std::string secret_access_key;
  std::string session_token;
};

// How requests to a queue are made.
struct SqsAccess {
  SqsQueueUrl queue;
  std::string region;  // for which requests are signed
  SqsKeys keys;
  std::string profile;  // in the shared files; empty: the environment's, or the default one
  std::string ca_file;  // in PEM format; empty: the system's CAs
};

struct SqsSpec : SqsAccess {
  // The most messages received and not deleted: waiting, or being handled.
  int prefetch = kUsualPrefetch;
  // How long a received message stays hidden from others, unless it is renewed.
  std::chrono::milliseconds visibility = kUsualVisibility;
  // How long the service waits for a message before it answers with none.
  std::chrono::milliseconds wait = kLongestWait;

  static constexpr int kUsualPrefetch = 200;
  static constexpr std::chrono::seconds kUsualVisibility{60};
  static constexpr std::chrono::seconds kLongestWait{20};
};

// The rules of the names of queues and topics: letters, digits, - and _, and .fifo at the end.
bool is_sqs_name(std::string_view name, std::size_t longest);

// Parses https://sqs.REGION.amazonaws.com/ACCOUNT/NAME, or the URL of a compatible server. On
// failure: why it is none, in words that follow "the URL".
tl::expected<SqsQueueUrl, std::string> read_sqs_url(std::string_view url);

// The largest batch of the service, of every kind.
inline constexpr std::size_t kSqsBatch = 10;
// No receipt keeps a message hidden for longer, however often it is renewed.
inline constexpr std::chrono::hours kSqsLongestHidden{12};
// No queue keeps a message for longer.
inline constexpr std::chrono::hours kSqsLongestRetention{14 * 24};
// How long a FIFO queue drops repeats of a deduplication id.
inline constexpr std::chrono::minutes kSqsDeduplicates{5};

// Where a queue's redrive policy moves messages.
struct SqsRedrive {
  std::int64_t most_receives = 0;
  std::string target;  // the ARN of the queue that they go to
};

// Whether the service moves a message to its dead-letter queue before the consumer would make it a
// dead letter.
inline bool redrives_first(const SqsRedrive& redrive, int crashes) noexcept {
  return redrive.most_receives < deliveries_before_given_up(crashes);
}

}  // namespace semel::core
