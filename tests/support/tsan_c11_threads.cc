// Only for ThreadSanitizer: librdkafka uses glibc's C11 threads, which the sanitizer does not know,
// so that it crashes. Here they are implemented with pthreads, which it knows. It cannot check
// librdkafka itself, which was built without it.
#include <pthread.h>
#include <threads.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>

namespace {

struct Start {
  thrd_start_t function;
  void* argument;
};

void* begin(void* given) {
  const Start start = *static_cast<Start*>(given);
  std::free(given);
  return reinterpret_cast<void*>(static_cast<std::intptr_t>(start.function(start.argument)));
}

pthread_mutex_t* of(mtx_t* mutex) { return reinterpret_cast<pthread_mutex_t*>(mutex); }
pthread_cond_t* of(cnd_t* condition) { return reinterpret_cast<pthread_cond_t*>(condition); }
int answer(int error) { return error == 0 ? thrd_success : thrd_error; }

}  // namespace

extern "C" {

// A client that waits for ever for a topic that was deleted joins none of its threads.
const char* __tsan_default_suppressions() { return "race:librdkafka.so.1\nthread:thrd_create\n"; }

int thrd_create(thrd_t* thread, thrd_start_t function, void* argument) {
  auto* start = static_cast<Start*>(std::malloc(sizeof(Start)));
  if (start == nullptr) return thrd_nomem;
  *start = {function, argument};
  const int error = pthread_create(reinterpret_cast<pthread_t*>(thread), nullptr, begin, start);
  if (error != 0) std::free(start);
  return error == ENOMEM ? thrd_nomem : answer(error);
}
int thrd_join(thrd_t thread, int* result) {
  void* value = nullptr;
  const int error = pthread_join(static_cast<pthread_t>(thread), &value);
  if (result != nullptr) *result = static_cast<int>(reinterpret_cast<std::intptr_t>(value));
  return answer(error);
}
int thrd_detach(thrd_t thread) { return answer(pthread_detach(static_cast<pthread_t>(thread))); }

int mtx_init(mtx_t* mutex, int kind) {
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  if ((kind & mtx_recursive) != 0) pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
  const int error = pthread_mutex_init(of(mutex), &attributes);
  pthread_mutexattr_destroy(&attributes);
  return answer(error);
}
int mtx_lock(mtx_t* mutex) { return answer(pthread_mutex_lock(of(mutex))); }
int mtx_unlock(mtx_t* mutex) { return answer(pthread_mutex_unlock(of(mutex))); }
int mtx_trylock(mtx_t* mutex) {
  const int error = pthread_mutex_trylock(of(mutex));
  return error == EBUSY ? thrd_busy : answer(error);
}
void mtx_destroy(mtx_t* mutex) { pthread_mutex_destroy(of(mutex)); }

int cnd_init(cnd_t* condition) { return answer(pthread_cond_init(of(condition), nullptr)); }
int cnd_signal(cnd_t* condition) { return answer(pthread_cond_signal(of(condition))); }
int cnd_broadcast(cnd_t* condition) { return answer(pthread_cond_broadcast(of(condition))); }
int cnd_wait(cnd_t* condition, mtx_t* mutex) {
  return answer(pthread_cond_wait(of(condition), of(mutex)));
}
int cnd_timedwait(cnd_t* condition, mtx_t* mutex, const timespec* until) {
  const int error = pthread_cond_timedwait(of(condition), of(mutex), until);
  return error == ETIMEDOUT ? thrd_timedout : answer(error);
}
void cnd_destroy(cnd_t* condition) { pthread_cond_destroy(of(condition)); }

}  // extern "C"
