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

// Where a queue is, as its URL says.
struct SqsQueueUrl {
  std::string url;       // as it is written
  std::string endpoint;  // where requests go: "https://sqs.eu-west-1.amazonaws.com/"
  std::string host;      // as the header Host has it: with a port that is not the scheme's own
  std::string region;    // empty where the host does not name one
  std::string name;      // of the queue: the last part of the path
  bool tls = false;

  // A FIFO queue's name ends so, and no other's.
  bool fifo() const noexcept { return name.ends_with(".fifo"); }
};

// Long-lived ones, or those of a session. Without an id the environment is asked for them.
struct SqsKeys {
  std::string access_key_id;
  std::string secret_access_key;
  std::string session_token;
};

// How requests to a queue are made.
struct SqsAccess {
  SqsQueueUrl queue;
  std::string region;  // that requests are signed for
  SqsKeys keys;
  std::string profile;  // of the shared files; empty: the environment's, or the default one
  std::string ca_file;  // in PEM format; empty: whom the system trusts
};

struct SqsSpec : SqsAccess {
  // The most messages that are received and not deleted: waiting, or handled.
  int prefetch = kUsualPrefetch;
  // How long a message that was received stays hidden from others, unless it is renewed.
  std::chrono::milliseconds visibility = kUsualVisibility;
  // How long the service waits for a message before it answers that there is none.
  std::chrono::milliseconds wait = kLongestWait;

  static constexpr int kUsualPrefetch = 200;
  static constexpr std::chrono::seconds kUsualVisibility{60};
  static constexpr std::chrono::seconds kLongestWait{20};
};

// https://sqs.REGION.amazonaws.com/ACCOUNT/NAME, or the URL of a server that speaks the same. Else
// why it is none, in words that follow "the URL".
tl::expected<SqsQueueUrl, std::string> read_sqs_url(std::string_view url);

// The most that the service takes at once, in every kind of batch.
inline constexpr std::size_t kSqsBatch = 10;
// No receipt keeps a message hidden for longer, however often it is renewed.
inline constexpr std::chrono::hours kSqsLongestHidden{12};
// No queue keeps a message for longer.
inline constexpr std::chrono::hours kSqsLongestRetention{14 * 24};
// So long a FIFO queue drops what is sent under a deduplication id that it knows.
inline constexpr std::chrono::minutes kSqsDeduplicates{5};

// Where a queue's redrive policy takes messages away.
struct SqsRedrive {
  std::int64_t most_receives = 0;
  std::string target;  // the ARN of the queue that they go to
};

// The service moves a message to its dead-letter queue before the consumer would make it a dead
// letter.
inline bool redrives_first(const SqsRedrive& redrive, int crashes) noexcept {
  return redrive.most_receives < deliveries_before_given_up(crashes);
}

}  // namespace semel::core
