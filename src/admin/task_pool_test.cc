#include "admin/task_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <stdexcept>
#include <string>

namespace semel::admin {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kLong{60'000};
// Long enough for a thread to begin a task, on a machine that is busy too.
constexpr milliseconds kToBegin{3'000};

HttpTask task_that(std::function<HttpResponse()> run, milliseconds patience = kLong) {
  return {std::move(run), patience, {503, "", "refused", {}}, {504, "", "late", {}}};
}

// The answer of one task, when it comes.
class Answered {
 public:
  TaskPool::Answer to() {
    return [this](HttpResponse response) {
      ++times_;
      promise_.set_value(std::move(response.body));
    };
  }
  std::string body() { return promise_.get_future().get(); }
  int times() const { return times_; }

 private:
  std::promise<std::string> promise_;
  std::atomic<int> times_{0};
};

HttpResponse quick() { return {200, "", "done", {}}; }

TEST(TaskPoolTest, AnswersByTheTask) {
  TaskPool pool(1, 10);
  Answered first, second;
  pool.add(task_that(quick), first.to());
  EXPECT_EQ(first.body(), "done");
  pool.add(task_that([]() -> HttpResponse { throw std::runtime_error("no"); }), second.to());
  EXPECT_EQ(second.body(), "internal error\n");
}

TEST(TaskPoolTest, ATaskThatTakesTooLongIsAnsweredWithoutItsEnd) {
  std::promise<void> go;
  Answered late, after;
  {
    TaskPool pool(1, 10);
    pool.add(task_that(
                 [&] {
                   go.get_future().wait();
                   return quick();
                 },
                 kToBegin),
             late.to());
    EXPECT_EQ(late.body(), "late");
    pool.add(task_that(quick), after.to());
    go.set_value();
    EXPECT_EQ(after.body(), "done") << "its thread goes on";
  }
  EXPECT_EQ(late.times(), 1);
}

TEST(TaskPoolTest, ATaskWhosePatienceIsOverBeforeItBeginsNeverRuns) {
  std::promise<void> go;
  Answered first, waiting;
  std::atomic<bool> ran{false};
  TaskPool pool(1, 10);
  std::promise<void> begun;
  pool.add(task_that([&] {
             begun.set_value();
             go.get_future().wait();
             return quick();
           }),
           first.to());
  begun.get_future().wait();
  pool.add(task_that(
               [&] {
                 ran = true;
                 return quick();
               },
               milliseconds(20)),
           waiting.to());
  EXPECT_EQ(waiting.body(), "refused");
  go.set_value();
  EXPECT_EQ(first.body(), "done");
  EXPECT_FALSE(ran);
}

TEST(TaskPoolTest, RefusesWhatIsTooMuch) {
  std::promise<void> go, begun;
  Answered running, waiting, refused;
  {
    TaskPool pool(1, 1);
    pool.add(task_that([&] {
               begun.set_value();
               go.get_future().wait();
               return quick();
             }),
             running.to());
    begun.get_future().wait();
    pool.add(task_that(quick), waiting.to());
    pool.add(task_that(quick), refused.to());
    EXPECT_EQ(refused.body(), "refused");
    EXPECT_EQ(waiting.times(), 0);
    go.set_value();
    EXPECT_EQ(waiting.body(), "done");
  }
  EXPECT_EQ(running.body(), "done");
}

TEST(TaskPoolTest, EndsAfterWhatRunsAndWithoutWhatWaits) {
  std::promise<void> go, begun;
  Answered running, waiting;
  std::thread releases;
  {
    TaskPool pool(1, 10);
    pool.add(task_that([&] {
               begun.set_value();
               go.get_future().wait();
               return quick();
             }),
             running.to());
    begun.get_future().wait();
    pool.add(task_that(quick), waiting.to());
    releases = std::thread([&] {
      EXPECT_EQ(waiting.body(), "refused");
      go.set_value();
    });
  }
  releases.join();
  EXPECT_EQ(running.body(), "done");
}

TEST(TaskPoolTest, RefusesAllOnceItHasStopped) {
  TaskPool pool(2, 10);
  Answered before, after;
  pool.add(task_that(quick), before.to());
  EXPECT_EQ(before.body(), "done");
  pool.stop();
  pool.add(task_that(quick), after.to());
  EXPECT_EQ(after.body(), "refused");
  pool.stop();
}

}  // namespace
}  // namespace semel::admin
