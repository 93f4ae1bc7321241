#include "clients/curl/sent_once.h"

#include <curl/curl.h>
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "clients/curl/handles.h"

namespace semel::curl {
namespace {

constexpr const char* kLocal = "127.0.0.1";
constexpr int kPort = 40'000;
constexpr int kOtherPort = 40'001;

class SentOnceTest : public testing::Test {
 protected:
  // A request that was sent on `port`, on the stream that `line` of the log tells.
  SentOnce& sent(int port, const char* line) {
    const auto& made = requests_.emplace_back(std::make_unique<Request>());
    made->easy.reset(curl_easy_init());
    made->once.watch_streams(made->easy.get(), last_streams_);
    EXPECT_TRUE(made->once.begin(kLocal, port));
    made->once.read_log(line);
    return made->once;
  }

 private:
  struct Request {
    SentOnce once;
    Easy easy;
  };
  LibraryUse library_;
  LastStreams last_streams_;
  std::vector<std::unique_ptr<Request>> requests_;
};

TEST_F(SentOnceTest, StreamsAfterTheLastOneOfTheirConnectionAreRefused) {
  // As versions from 8.3 on log it.
  SentOnce& first = sent(kPort, "[HTTP/2] [1] OPENED stream for https://h/\n");
  SentOnce& third = sent(kPort, "[HTTP/2] [5] OPENED stream for https://h/\n");
  SentOnce& elsewhere = sent(kOtherPort, "[HTTP/2] [7] OPENED stream for https://h/\n");
  SentOnce& unknown = sent(kPort, "a line of another version\n");
  first.read_log("received GOAWAY, error=0, last_stream=3\n");
  EXPECT_FALSE(first.refused());
  EXPECT_TRUE(third.refused());
  EXPECT_FALSE(elsewhere.refused());
  EXPECT_FALSE(unknown.refused());
  EXPECT_FALSE(first.begin(kLocal, kOtherPort)) << "it may have been processed";
  EXPECT_TRUE(first.repeated());
  EXPECT_FALSE(unknown.begin(kLocal, kOtherPort));
  EXPECT_FALSE(third.sent());
  EXPECT_TRUE(third.begin(kLocal, kOtherPort));
  EXPECT_TRUE(third.sent());
  EXPECT_FALSE(third.begin(kLocal, kOtherPort)) << "the second time it was not refused";
}

TEST_F(SentOnceTest, ALaterConnectionWithTheSameNameIsAnother) {
  SentOnce& early = sent(kPort, "Using Stream ID: 3 (easy handle 0x1)\n");
  early.read_log("recveived GOAWAY, error=0, last_stream=1\n");
  EXPECT_TRUE(early.refused());
  (void)sent(kPort, "Using Stream ID: 1 (easy handle 0x2)\n");
  EXPECT_FALSE(sent(kPort, "Using Stream ID: 3 (easy handle 0x3)\n").refused());
}

// Before its next sending a request looks at idle connections, and reads what they say.
TEST_F(SentOnceTest, WhatIsReadBetweenTwoSendingsConcernsNeitherConnection) {
  SentOnce& repeats = sent(kPort, "Using Stream ID: 3 (easy handle 0x1)\n");
  SentOnce& neighbour = sent(kPort, "Using Stream ID: 5 (easy handle 0x2)\n");
  repeats.read_log("Connection died, retrying a fresh connect (retry count: 1)\n");
  repeats.read_log("recveived GOAWAY, error=0, last_stream=1\n");
  EXPECT_FALSE(neighbour.refused());
}

TEST_F(SentOnceTest, ARefusalIsThatOfItsOwnStream) {
  SentOnce& once = sent(kPort, "Using Stream ID: 1 (easy handle 0x1)\n");
  once.read_log("REFUSED_STREAM, retrying a fresh connect\n");
  EXPECT_TRUE(once.refused());
  EXPECT_TRUE(once.begin(kLocal, kOtherPort));
  once.read_log("Using Stream ID: 1 (easy handle 0x1)\n");
  once.read_log("REFUSED_STREAM, retrying a fresh connect\n");
  EXPECT_FALSE(once.refused()) << "libcurl may mean the first one";
  once.read_log("HTTP/2 stream 3 refused by server, try again on a new connection\n");
  EXPECT_FALSE(once.refused());
  once.read_log("HTTP/2 stream 1 refused by server, try again on a new connection\n");
  EXPECT_TRUE(once.refused());
}

}  // namespace
}  // namespace semel::curl
