// Tests without a server: the URL, the table of errors, the reader.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "clients/redis/connection.h"
#include "clients/redis/error_table.h"
#include "clients/redis/reply.h"
#include "clients/redis/test_client.h"
#include "clients/redis/url.h"

namespace semel::redis {
namespace {

using namespace std::string_literals;

TEST(RedisUrl, SaysWhereAndAsWhom) {
  Target target = target_of("redis://worker:p%40ss:w@db.example:6380/3?timeout=2");
  EXPECT_EQ(target.host, "db.example");
  EXPECT_EQ(target.port, 6380U);
  EXPECT_EQ(target.user, "worker");
  EXPECT_EQ(target.password, "p@ss:w");
  EXPECT_EQ(target.database, 3U);
  EXPECT_EQ(target.answer_timeout, 2s);
  EXPECT_EQ(endpoint_text(target), "db.example:6380");

  target = target_of("redis://a:7001,[::1]:7002,c?timeout=3");
  EXPECT_EQ(target.host, "a");
  EXPECT_EQ(target.others, (std::vector<Endpoint>{{"::1", 7002}, {"c", 6379}}));
  ASSERT_EQ(each_of(target).size(), 3U);
  EXPECT_EQ(endpoint_text(each_of(target)[1]), "::1:7002");
  EXPECT_EQ(each_of(target)[2].answer_timeout, 3s);
  target = target_of("redis://[::1]");
  EXPECT_EQ(target.host, "::1");
  EXPECT_EQ(target.port, 6379U);
  EXPECT_EQ(target.database, 0U);

  target = target_of("redis://:secret@localhost/?db=2");
  EXPECT_EQ(target.user, "");
  EXPECT_EQ(target.password, "secret");
  EXPECT_EQ(target.database, 2U);

  target = target_of("redis+unix://:secret@/run/redis%20a.sock?db=1");
  EXPECT_EQ(target.socket, "/run/redis a.sock");
  EXPECT_EQ(target.password, "secret");
  EXPECT_EQ(target.database, 1U);
  EXPECT_EQ(target_of("unix:///run/redis.sock").socket, "/run/redis.sock");
}

TEST(RedisUrl, TlsIsCheckedUnlessItIsSaidOtherwise) {
  using Tls = Target::Tls;
  EXPECT_EQ(target_of("redis://db").tls, Tls::kOff);
  EXPECT_EQ(target_of("rediss://db").tls, Tls::kVerify);
  EXPECT_EQ(target_of("rediss://db?tls=on").tls, Tls::kOn);
  EXPECT_EQ(target_of("redis://db?tls=verify").tls, Tls::kVerify);
  const Target files = target_of("rediss://db?tls-ca=/c.pem&tls-cert=/a.pem&tls-key=/k.pem");
  EXPECT_EQ(files.tls, Tls::kVerify);
  EXPECT_EQ(target_of("redis://db?tls-ca=/c.pem&tls=verify").tls, Tls::kVerify);
  EXPECT_EQ(files.tls_ca, "/c.pem");
  EXPECT_EQ(files.tls_cert, "/a.pem");
  EXPECT_EQ(files.tls_key, "/k.pem");
}

TEST(RedisUrl, WhatIsNoneIsRefusedWithoutAWordOfThePassword) {
  for (const char* url : {"",
                          "redis",
                          "http://:s3cret@h",
                          "rediss+unix://:s3cret@h",
                          "redis://:s3cret@",
                          "redis://:s3cret@h:0",
                          "redis://:s3cret@h:70000",
                          "redis://:s3cret@h:12x",
                          "redis://:s3cret@h/one",
                          "redis://:s3cret@h/-1",
                          "redis://:s3cret%zz@h",
                          "redis://user@h",
                          "redis://:s3cret@h?what=1",
                          "rediss://:s3cret@h?tls=off",
                          "redis://:s3cret@h?tls-key=k",
                          "redis+unix://:s3cret@/run/s?tls=on",
                          "redis://:s3cret@h?timeout=0",
                          "redis+unix://:s3cret@run",
                          "rediss://:s3cret@h?tls-ca=/c.pem&tls=on",
                          "rediss://:s3cret@h?tls=on&tls-ca=/c.pem",
                          "rediss://:s3cret@h?tls=verify&tls=on"}) {
    SCOPED_TRACE(url);
    const Error error = error_from([&] { target_of(url); });
    EXPECT_EQ(error.code, "R259");
    EXPECT_EQ(error.kind, ErrorKind::kRejected);
    EXPECT_EQ((error.message + error.hint).find("s3cret"), std::string::npos) << error.message;
  }
}

struct Said {
  const char* words;
  ErrorKind kind;
  const char* page;
};

TEST(RedisErrors, EachHasItsKindAndItsPage) {
  constexpr auto kAway = ErrorKind::kUnavailable;
  constexpr auto kWrong = ErrorKind::kRejected;
  for (const Said& said : std::initializer_list<Said>{
           {"LOADING Redis is loading the dataset in memory", kAway, "R250"},
           {"CLUSTERDOWN The cluster is down", kAway, "R250"},
           {"MISCONF Redis is configured to save RDB snapshots", kAway, "R205"},
           {"OOM command not allowed when used memory > 'maxmemory'.", kAway, "R261"},
           {"READONLY You can't write against a read only replica.", kAway, "R203"},
           {"NOREPLICAS Not enough good replicas to write.", kAway, "R262"},
           {"NOPERM this user has no permissions", kWrong, "R253"},
           {"ERR The user executing the script can't run this command or subcommand script: 8cb, "
            "on "
            "@user_script:223.",
            kWrong, "R253"},
           {"NOAUTH Authentication required.", kAway, "R251"},
           {"WRONGPASS invalid username-password pair", kAway, "R251"},
           {"ERR AUTH <password> called without any password configured", kAway, "R251"},
           {"ERR max number of clients reached", kAway, "R254"},
           {"ERR DB index is out of range", kWrong, "R252"},
           {"BUSY Redis is busy running a script.", kAway, "R266"},
           {"MOVED 3999 127.0.0.1:6381", kAway, "R250"},
           {"ERR SELECT is not allowed in cluster mode", kWrong, "R264"},
           {"WRONGTYPE Operation against a key", kWrong, "R263"},
           {"NOSCRIPT No matching script.", kAway, "R200"},
           {"ERR something new", kAway, "R200"},
           {"", kAway, "R200"},
           {"ERR Error running script (call to f_1): @user_script:7: -OOM command not allowed",
            kAway, "R261"}}) {
    SCOPED_TRACE(said.words);
    const Error error = error_of(said.words);
    EXPECT_EQ(error.kind, said.kind);
    EXPECT_EQ(error.code, said.page);
    EXPECT_NE(error.message.find(said.words), std::string::npos) << "the server's own words";
  }
  EXPECT_EQ(word_of("NOSCRIPT No matching script."), "NOSCRIPT");
  EXPECT_EQ(word_of("PLAIN"), "PLAIN");
  EXPECT_TRUE(ends_connection("READONLY You can't"));
  EXPECT_FALSE(ends_connection("OOM command not allowed"));
}

// All kinds of replies, one after the other.
const std::string kStream =
    "+OK\r\n-ERR no such thing\r\n:-42\r\n$-1\r\n$0\r\n\r\n$5\r\na\r\n\0b\r\n*-1\r\n*0\r\n"
    "*3\r\n:1\r\n*2\r\n$1\r\nx\r\n-NOSCRIPT gone\r\n$-1\r\n"s;

std::string described(const Reply& reply) {
  std::string text = fmt::format("{}:{}:{}", static_cast<int>(reply.kind), reply.number,
                                 std::string(reply.bytes.c_str()));
  for (const Reply& one : reply.list) text += "(" + described(one) + ")";
  return text;
}

TEST(RedisReader, FindsRepliesInPiecesOfAnySize) {
  std::vector<std::string> whole;
  Reader at_once;
  at_once.feed(kStream);
  while (const auto reply = at_once.next()) whole.push_back(described(*reply));
  ASSERT_EQ(whole.size(), 9U);
  for (std::size_t size = 1; size < kStream.size(); ++size) {
    Reader reader;
    std::vector<std::string> found;
    for (std::size_t at = 0; at < kStream.size(); at += size) {
      reader.feed(std::string_view(kStream).substr(at, size));
      while (const auto reply = reader.next()) found.push_back(described(*reply));
    }
    EXPECT_EQ(found, whole) << "pieces of " << size;
  }
}

TEST(RedisReader, TellsTheKindsApart) {
  Reader reader;
  reader.feed("$-1\r\n$0\r\n\r\n*0\r\n:7\r\n$5\r\na\r\n");
  EXPECT_EQ(reader.next()->kind, Reply::Kind::kNil);
  EXPECT_EQ(reader.next()->kind, Reply::Kind::kBytes);
  EXPECT_EQ(reader.next()->kind, Reply::Kind::kList);
  EXPECT_EQ(reader.next()->number, 7);
  EXPECT_FALSE(reader.next().has_value()) << "a half one is none";
  reader.feed(std::string_view("\0b\r\n", 4));
  EXPECT_EQ(reader.next()->bytes, Bytes("a\r\n\0b", 5));
}

TEST(RedisReader, AHugeBulkArrivesWhole) {
  const Bytes huge(32 << 20, 'x');
  Reader reader;
  reader.feed(fmt::format("${}\r\n", huge.size()));
  for (std::size_t at = 0; at < huge.size(); at += 65'536) {
    ASSERT_FALSE(reader.next().has_value());
    reader.feed(BytesView(huge).substr(at, 65'536));
  }
  reader.feed("\r\n:1\r\n");
  EXPECT_TRUE(reader.next()->bytes == huge);
  EXPECT_EQ(reader.next()->number, 1);
}

TEST(RedisReader, WhatIsNoReplyIsRefused) {
  for (const char* nonsense : {"HTTP/1.1 400 Bad Request\r\n\r\n", "$x\r\n", "*-7\r\n"}) {
    Reader reader;
    reader.feed(nonsense);
    EXPECT_EQ(error_from([&] { reader.next(); }).code, "R200") << nonsense;
  }
}

TEST(RedisReader, ACommandMayHoldAnyByte) {
  std::string out;
  append_command(out, {"SET", BytesView("k\0\r\n", 4), ""});
  EXPECT_EQ(out, "*3\r\n$3\r\nSET\r\n$4\r\nk\0\r\n\r\n$0\r\n\r\n"s);
  const Bytes longer(12'345, 'x');
  append_command(out, {"GET", longer});
  EXPECT_EQ(out, "*3\r\n$3\r\nSET\r\n$4\r\nk\0\r\n\r\n$0\r\n\r\n"s +
                     "*2\r\n$3\r\nGET\r\n$12345\r\n" + longer + "\r\n")
      << "behind what is there already";
}

TEST(RedisInfo, AFieldIsFoundByItsWholeName) {
  EXPECT_EQ(info_field("# Server\r\nredis_version:7.0.15\r\nrun_id:abc\r\n", "run_id"), "abc");
  EXPECT_EQ(info_field("xrun_id:1\r\nrun_id2:2\r\n", "run_id"), "");
}

}  // namespace
}  // namespace semel::redis
