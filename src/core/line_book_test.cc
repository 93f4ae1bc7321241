#include "core/line_book.h"

#include <gtest/gtest.h>

namespace semel::core {
namespace {

TEST(LineBook, AnAnswerIsTooOldOnceItsLineHasStopped) {
  LineBook book;
  const auto before = book.ask();
  book.stopped("a");
  EXPECT_FALSE(book.fresh("a", before)) << "asked before it stopped";
  EXPECT_TRUE(book.fresh("b", before));
  EXPECT_TRUE(book.fresh("a", book.ask())) << "the store knew it";
}

TEST(LineBook, WhatComesFromOutsideMayWaitUntilItsLineIsFree) {
  LineBook book;
  book.held("a");
  EXPECT_TRUE(book.may_wait("a"));
  EXPECT_FALSE(book.may_wait("b"));
  EXPECT_TRUE(book.free("a", book.ask()));
  EXPECT_FALSE(book.may_wait("a"));
}

TEST(LineBook, AnOldAnswerFreesNothing) {
  LineBook book;
  const auto asked = book.ask();
  book.stopped("a");
  EXPECT_FALSE(book.free("a", asked));
  EXPECT_TRUE(book.may_wait("a"));
}

TEST(LineBook, StoppingAgainCountsAnew) {
  LineBook book;
  book.stopped("a");
  const auto asked = book.ask();
  book.held("a");
  EXPECT_TRUE(book.fresh("a", asked)) << "known to be held is no news";
  book.stopped("a");
  EXPECT_FALSE(book.fresh("a", asked));
}

TEST(LineBook, AListOfAllLinesForgetsTheOthers) {
  LineBook book;
  book.stopped("gone");
  book.stopped("there");
  const auto asked = book.ask();
  book.stopped("stopped since");
  book.only({"there", "new"}, asked);
  EXPECT_FALSE(book.may_wait("gone"));
  EXPECT_TRUE(book.may_wait("there"));
  EXPECT_TRUE(book.may_wait("new"));
  EXPECT_TRUE(book.may_wait("stopped since"));
}

}  // namespace
}  // namespace semel::core
