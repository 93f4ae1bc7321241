// Annotations for Clang's -Wthread-safety: they name the mutex that guards a field, and the locks
// that a function needs. Other compilers ignore them. tests/tidy/lint.py runs the check.
#pragma once

#if defined(__clang__)
#define SEMEL_THREAD_ANNOTATION(attribute) __attribute__((attribute))
#else
#define SEMEL_THREAD_ANNOTATION(attribute)
#endif

// A class: something to hold, and something that holds it for as long as it exists.
#define SEMEL_CAPABILITY(name) SEMEL_THREAD_ANNOTATION(capability(name))
#define SEMEL_SCOPED_CAPABILITY SEMEL_THREAD_ANNOTATION(scoped_lockable)

// A field: it is used only with the mutex held.
#define SEMEL_GUARDED_BY(mutex) SEMEL_THREAD_ANNOTATION(guarded_by(mutex))
// A mutex: it is locked before the named one.
#define SEMEL_ACQUIRED_BEFORE(...) SEMEL_THREAD_ANNOTATION(acquired_before(__VA_ARGS__))

// A function or a lambda: its caller holds the mutex; its caller does not, because it locks.
#define SEMEL_REQUIRES(...) SEMEL_THREAD_ANNOTATION(requires_capability(__VA_ARGS__))
#define SEMEL_REQUIRES_SHARED(...) SEMEL_THREAD_ANNOTATION(requires_shared_capability(__VA_ARGS__))
#define SEMEL_EXCLUDES(...) SEMEL_THREAD_ANNOTATION(locks_excluded(__VA_ARGS__))

// A function that locks or unlocks and returns so.
#define SEMEL_ACQUIRE(...) SEMEL_THREAD_ANNOTATION(acquire_capability(__VA_ARGS__))
#define SEMEL_ACQUIRE_SHARED(...) SEMEL_THREAD_ANNOTATION(acquire_shared_capability(__VA_ARGS__))
#define SEMEL_RELEASE(...) SEMEL_THREAD_ANNOTATION(release_capability(__VA_ARGS__))
#define SEMEL_RELEASE_SHARED(...) SEMEL_THREAD_ANNOTATION(release_shared_capability(__VA_ARGS__))
#define SEMEL_TRY_ACQUIRE(...) SEMEL_THREAD_ANNOTATION(try_acquire_capability(__VA_ARGS__))

// A function that the check cannot follow. A comment beside it says why it is right.
#define SEMEL_NO_THREAD_SAFETY_ANALYSIS SEMEL_THREAD_ANNOTATION(no_thread_safety_analysis)
