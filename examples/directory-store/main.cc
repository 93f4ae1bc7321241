// Guard on the store: each key is greeted once, however often it is said, in whichever process.
#include <semel/semel.h>

#include <cstdio>

#include "directory_store.h"

int main(int argc, char** argv) {
  auto store = directory_store::open({.path = "records"});
  if (!store) return std::fprintf(stderr, "%s\n", store.error().message.c_str()), 1;
  semel::Guard guard(**store, {.consumer = "greetings"});
  for (int i = 1; i < argc; ++i) {
    const auto outcome = guard.run_once(argv[i], semel::fingerprint_of(argv[i]),
                                        [&] { std::printf("hello, %s\n", argv[i]); });
    if (!outcome) return std::fprintf(stderr, "%s\n", outcome.error().message.c_str()), 1;
    std::printf("%s: %s\n", argv[i], semel::to_string(outcome->kind));
  }
}
