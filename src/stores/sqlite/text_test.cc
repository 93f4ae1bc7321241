#include <gtest/gtest.h>

#include "stores/sqlite/lock_holder.h"
#include "stores/sqlite/place.h"
#include "stores/sqlite/prepared.h"
#include "stores/sqlite/unique_names.h"

namespace semel::sqlite {
namespace {

using namespace std::string_literals;

TEST(SqliteText, IsUtf8WithoutNul) {
  for (const std::string& text :
       {""s, "plain text longer than eight bytes"s, "gr\xc3\xbc\xc3\x9f"s, "\xe2\x82\xac"s,
        "\xf0\x9f\x98\x80 and more"s, "1234567\xc3\xa4"s}) {
    EXPECT_TRUE(is_text(text)) << text;
  }
  for (const std::string& bytes :
       {"\0"s, "12345678\0"s, "1234\0"s + "5678"s, "\xff"s, "\xc3"s, "\xc3("s, "\xc0\xaf"s,
        "\xe0\x80\x80"s, "\xed\xa0\x80"s, "\xf4\x90\x80\x80"s, "\xf5\x80\x80\x80"s, "\x80"s,
        "12345678\xe2\x82"s}) {
    EXPECT_FALSE(is_text(bytes));
  }
}

TEST(UniqueRule, IsFoundByTableAndColumns) {
  const std::vector<UniqueRule> rules = {
      {"seats(row, number)", {}}, {"main.Reservations ( Order_Id )", {}}, {"by_expression", {}}};
  const auto found = [&](std::string_view said) {
    const auto name = unique_name_in(said);
    const UniqueRule* const rule = name ? core::rule_for(rules, {&*name, 1}) : nullptr;
    return rule == nullptr ? -1 : static_cast<int>(rule - rules.data());
  };
  EXPECT_EQ(found("UNIQUE constraint failed: seats.row, seats.number"), 0);
  EXPECT_EQ(found("UNIQUE constraint failed: reservations.order_id"), 1);
  EXPECT_EQ(found("UNIQUE constraint failed: index 'by_expression'"), 2);
  EXPECT_EQ(found("UNIQUE constraint failed: seats.row"), -1);
  EXPECT_EQ(found("UNIQUE constraint failed: seats.number, seats.row"), -1);
  EXPECT_EQ(found("NOT NULL constraint failed: seats.row"), -1);
  EXPECT_EQ(found("no such table: seats"), -1);
  EXPECT_EQ(core::rule_for({}, {}), nullptr);
}

TEST(Place, NetworkFileSystemsAreKnown) {
  EXPECT_TRUE(is_network(0x6969, "nfs4"));
  EXPECT_TRUE(is_network(0x517b, "smbfs"));
  EXPECT_TRUE(is_network(0xff534d42, "cifs"));
  EXPECT_TRUE(is_network(static_cast<long>(static_cast<int>(0xff534d42)), "cifs"))
      << "as a signed number";
  EXPECT_TRUE(is_network(0xfe534d42, "smb3"));
  EXPECT_TRUE(is_network(0x65735546, "fuse.sshfs"));
  EXPECT_FALSE(is_network(0x65735546, "fuseblk")) << "a local disk behind a program";
  EXPECT_FALSE(is_network(0xef53, "ext4"));
  EXPECT_FALSE(is_network(0x01021994, "tmpfs"));
}

TEST(LockHolder, IsReadFromTheKernelsList) {
  const std::string locks =
      "1: POSIX  ADVISORY  READ 11 fe:00:77 124 124\n"
      "2: OFDLCK ADVISORY  WRITE -1 fe:00:99 65 65\n"
      "3: POSIX  ADVISORY  WRITE 12 fe:00:77 121 121\n"
      "3: -> POSIX  ADVISORY  WRITE 14 fe:00:77 120 120\n"
      "4: POSIX  ADVISORY  WRITE 13 fe:00:77 120 120\n";
  EXPECT_EQ(lock_holder_in(locks, 1, "fe:00:55", "fe:00:77"), 13);
  EXPECT_EQ(lock_holder_in(locks, 13, "fe:00:55", "fe:00:77"), std::nullopt) << "not oneself";
  EXPECT_EQ(lock_holder_in(locks, 1, "fe:00:55", "fe:00:66"), std::nullopt);
  const std::string journal = "1: POSIX  ADVISORY  WRITE 21 fe:00:55 1073741825 1073741825\n";
  EXPECT_EQ(lock_holder_in(journal, 1, "fe:00:55", ""), 21);
}

}  // namespace
}  // namespace semel::sqlite
