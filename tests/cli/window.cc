#include "tests/cli/window.h"

namespace semel::test {

Endings endings_of(const Program& run) {
  const std::string out = run.out();
  const std::size_t by_window = count_of(out, "duplicate  front");
  return {.done = count_of(out, "  done "),
          .by_window = by_window,
          .by_record = count_of(out, "  duplicate") - by_window};
}

bool window_answers(const Program& run, std::size_t count, const std::function<void()>& send) {
  return comes_true([&] {
    const Endings before = endings_of(run);
    send();
    return comes_true([&] { return endings_of(run).all() >= before.all() + count; }) &&
           endings_of(run).by_window == before.by_window + count;
  });
}

}  // namespace semel::test
