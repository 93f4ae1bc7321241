#include "http_server/framing.h"

#include <gtest/gtest.h>

#include <string_view>
#include <utility>
#include <vector>

#include "base/ascii.h"

namespace semel::http {
namespace {

using HeadLines = std::vector<std::pair<std::string_view, std::string_view>>;

int framing_status(const HeadLines& lines) {
  HttpRequest request;
  request.header = [&lines](const char* name) -> std::optional<std::string_view> {
    for (const auto& [one, value] : lines) {
      if (ascii::alike(one, name)) return value;
    }
    return std::nullopt;
  };
  request.headers = [&lines] { return lines; };
  const auto fault = framing_fault(request);
  return fault ? fault->status : 0;
}

TEST(Framing, ALengthOrChunksOrNeither) {
  EXPECT_EQ(framing_status({{"Host", "a"}}), 0);
  EXPECT_EQ(framing_status({{"content-length", "0"}, {"x-any", "a"}, {"x-any", "b"}}), 0);
  EXPECT_EQ(framing_status({{"Transfer-Encoding", "Chunked"}}), 0);
}

TEST(Framing, AHeaderThatStandsTwiceIsAFault) {
  EXPECT_EQ(framing_status({{"content-length", "1"}, {"Content-Length", "2"}}), 400);
  EXPECT_EQ(framing_status({{"content-length", "1"}, {"transfer-encoding", "chunked"}}), 400);
  EXPECT_EQ(framing_status({{"transfer-encoding", "chunked"}, {"transfer-encoding", "x"}}), 400);
  EXPECT_EQ(framing_status({{"host", "a"}, {"host", "b"}}), 400);
}

// As the HTTP library has them: the rest of such a request would be the next one.
TEST(Framing, ANameWithABlankIsAFault) {
  EXPECT_EQ(framing_status({{"content-length ", "46"}}), 400);
  EXPECT_EQ(framing_status({{"content-length", "0"}, {"transfer-encoding\t", "chunked"}}), 400);
}

TEST(Framing, ALengthIsDigitsAlone) {
  for (const std::string_view value : {"-1", "+1", "7x", "", "0x7", "1, 1"}) {
    EXPECT_EQ(framing_status({{"content-length", value}}), 400) << value;
  }
  EXPECT_EQ(framing_status({{"content-length", "99999999999999999999999"}}), 0);
}

TEST(Framing, OnlyChunksAreKnown) {
  EXPECT_EQ(framing_status({{"transfer-encoding", "gzip, chunked"}}), 501);
}

}  // namespace
}  // namespace semel::http
