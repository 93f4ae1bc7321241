#include "http_server/task_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <stdexcept>
#include <string>

namespace semel::http {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kLong{60'000};
// Long enough for a thread to begin a task, on a machine that is busy too.
constexpr milliseconds kToBegin{3'000};

HttpTask task_that(std::function<HttpResponse()> run, milliseconds patience = kLong) {
  return {std::move(run), patience, {503, "", "refused", {}}, {504, "", "late", {}}};
}

// Receives the answer of one task.
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

// A task that occupies the only thread of a pool until it is released.
class Held {
 public:
  // Returns when it has begun.
  void begin(TaskPool& pool, TaskPool::Answer answer) {
    pool.add(task_that([this] {
               begun_.set_value();
               go_.get_future().wait();
               return quick();
             }),
             std::move(answer));
    begun_.get_future().wait();
  }
  void let_go() { go_.set_value(); }

 private:
  std::promise<void> begun_, go_;
};

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
  Held held;
  Answered first, waiting;
  std::atomic<bool> ran{false};
  TaskPool pool(1, 10);
  held.begin(pool, first.to());
  pool.add(task_that(
               [&] {
                 ran = true;
                 return quick();
               },
               milliseconds(20)),
           waiting.to());
  EXPECT_EQ(waiting.body(), "refused");
  held.let_go();
  EXPECT_EQ(first.body(), "done");
  EXPECT_FALSE(ran);
}

TEST(TaskPoolTest, RefusesWhatIsTooMuch) {
  Held held;
  Answered running, waiting, refused;
  {
    TaskPool pool(1, 1);
    held.begin(pool, running.to());
    pool.add(task_that(quick), waiting.to());
    pool.add(task_that(quick), refused.to());
    EXPECT_EQ(refused.body(), "refused");
    EXPECT_EQ(waiting.times(), 0);
    held.let_go();
    EXPECT_EQ(waiting.body(), "done");
  }
  EXPECT_EQ(running.body(), "done");
}

TEST(TaskPoolTest, EndsAfterWhatRunsAndWithoutWhatWaits) {
  Held held;
  Answered running, waiting;
  std::thread releases;
  {
    TaskPool pool(1, 10);
    held.begin(pool, running.to());
    pool.add(task_that(quick), waiting.to());
    releases = std::thread([&] {
      EXPECT_EQ(waiting.body(), "refused");
      held.let_go();
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
}  // namespace semel::http
