// admin.tls: HTTPS, renewed files, and those who speak something else.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <tuple>

#include "tests/cli/admin_run.h"
#include "tests/support/tls.h"

namespace semel::test {
namespace {

class AdminTls : public ::testing::Test {
 protected:
  AdminTls() : bed_(payments(kQueue)) { files_.add("server", first_); }
  std::string admin() const {
    return fmt::format("admin: {{ listen: 127.0.0.1:0, tls: {{ certificate: {}, key: {} }} }}\n",
                       files_.file("server.pem"), files_.file("server.key"));
  }
  // A client that trusts `identity` alone sees this.
  Ran ask(const AdminRun& run, const TlsIdentity& identity, const char* scheme = "https") const {
    files_.write("trusted.pem", identity.certificate());
    return test::run({"consumers", "list", "--url",
                      fmt::format("{}://127.0.0.1:{}", scheme, run.port()), "--ca-file",
                      files_.file("trusted.pem")});
  }

  const TestBed bed_;
  const TlsFiles files_;
  const TlsIdentity first_, second_;
};

TEST_F(AdminTls, AnswersThoseWhoTrustItsCertificate) {
  const AdminRun run(bed_, admin());
  // The store is opened by then.
  ASSERT_TRUE(comes_true([&] { return ask(run, first_).code == 0; })) << ask(run, first_).err;
  const Ran stranger = ask(run, second_);
  EXPECT_EQ(stranger.code, 69);
  EXPECT_NE(stranger.err.find("--ca-file"), std::string::npos) << stranger.err;
}

TEST_F(AdminTls, FilesThatWereRenewedAreReadAnew) {
  const AdminRun run(bed_, admin());
  ASSERT_TRUE(comes_true([&] { return ask(run, first_).code == 0; }));
  files_.write("server.key", "no key\n");
  EXPECT_EQ(ask(run, first_).code, 0) << "what was good stays while they are not";
  files_.add("server", second_);
  EXPECT_EQ(ask(run, second_).code, 0);
  EXPECT_EQ(ask(run, first_).code, 69);
}

// Each change of the files is told once, and that the next ones are good.
TEST_F(AdminTls, ARenewalThatCannotBeUsedIsToldOnce) {
  files_.write("token", "the secret of operators");
  AdminRun run(bed_,
               fmt::format("admin: {{ listen: 127.0.0.1:0, tls: {{ certificate: {}, key: {} }}, "
                           "auth: {{ tokens: [{{ name: ops, role: operator, secret: the secret of "
                           "operators }}] }} }}\n",
                           files_.file("server.pem"), files_.file("server.key")));
  const auto asked = [&](const TlsIdentity& identity, const Words& command) {
    files_.write("trusted.pem", identity.certificate());
    Words words = command;
    for (const std::string& word :
         {std::string("--url"), fmt::format("https://127.0.0.1:{}", run.port()),
          std::string("--ca-file"), files_.file("trusted.pem"), std::string("--token-file"),
          files_.file("token")}) {
      words.push_back(word);
    }
    return test::run(words);
  };
  const auto lists = [&](const TlsIdentity& identity) {
    return asked(identity, {"consumers", "list"}).code;
  };
  const auto told = [&](std::string_view text) {
    const std::string log = run.program().err();
    std::size_t times = 0;
    for (auto at = log.find(text); at != std::string::npos; at = log.find(text, at + 1)) ++times;
    return times;
  };
  ASSERT_TRUE(comes_true([&] { return lists(first_) == 0; })) << run.program().err();
  EXPECT_EQ(told("R363"), 0U);
  EXPECT_EQ(asked(first_, {"doctor"}).code, 0);

  files_.write("server.key", "no key\n");
  for (int times = 0; times < 3; ++times) EXPECT_EQ(lists(first_), 0);
  EXPECT_TRUE(comes_true([&] { return told("error[R363]") == 1; })) << run.program().err();
  const Ran examined = asked(first_, {"doctor"});
  EXPECT_NE(examined.code, 0);
  EXPECT_NE(examined.out.find("R363"), std::string::npos) << examined.out << examined.err;

  files_.write("server.key", "another one that is none\n");
  for (int times = 0; times < 3; ++times) EXPECT_EQ(lists(first_), 0);
  EXPECT_TRUE(comes_true([&] { return told("error[R363]") == 2; })) << run.program().err();
  files_.add("server", second_);
  EXPECT_EQ(lists(second_), 0);
  EXPECT_TRUE(comes_true([&] { return told("certificate works again") == 1; }))
      << run.program().err();
  EXPECT_EQ(told("error[R363]"), 2U) << run.program().err();
  EXPECT_EQ(asked(second_, {"doctor"}).code, 0);
}

TEST_F(AdminTls, PlainTextIsToldWhatToSpeak) {
  const AdminRun run(bed_, admin());
  const Ran plain = ask(run, first_, "http");
  EXPECT_EQ(plain.code, 69);
  EXPECT_NE(plain.err.find("https://"), std::string::npos) << plain.err;
}

TEST_F(AdminTls, ARunWithoutItTellsThoseWhoSpeakTls) {
  const AdminRun run(bed_);
  const Ran ran = ask(run, first_);
  EXPECT_EQ(ran.code, 69);
  EXPECT_NE(ran.err.find("http://"), std::string::npos) << ran.err;
}

TEST_F(AdminTls, FilesThatCannotBeUsedEndTheStart) {
  files_.add("other", second_);
  for (const auto& [certificate, key, why] :
       {std::tuple{"server.pem", "other.key", "it is not the key of"},
        std::tuple{"none.pem", "server.key", "it cannot be read"},
        std::tuple{"server.key", "server.key", "admin.tls"}}) {
    const TestBed bed(payments(kQueue));
    write_file(
        bed.config(),
        fmt::format("admin: {{ listen: 127.0.0.1:0, tls: {{ certificate: {}, key: {} }} }}\n",
                    files_.file(certificate), files_.file(key)) +
            contents_of(bed.config()));
    const Ran ran = bed.semel({"run"});
    EXPECT_EQ(ran.code, 78) << ran.err;
    EXPECT_NE(ran.err.find("error[R363]"), std::string::npos) << ran.err;
    EXPECT_NE(ran.err.find(why), std::string::npos) << ran.err;
  }
}

}  // namespace
}  // namespace semel::test
