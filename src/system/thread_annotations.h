// Annotations for Clang's -Wthread-safety: they name the mutex that guards a field, and the locks
// that a function needs. Other compilers ignore them. tests/tidy/lint.py runs the check.
#pragma once

#if defined(__clang__)
#define SEMEL_THREAD_ANNOTATION(attribute) __attribute__((attribute))
#else
#define SEMEL_THREAD_ANNOTATION(attribute)
#endif

// For a class: a lock, and a scope that holds one.
#define SEMEL_CAPABILITY(name) SEMEL_THREAD_ANNOTATION(capability(name))
#define SEMEL_SCOPED_CAPABILITY SEMEL_THREAD_ANNOTATION(scoped_lockable)

// For a field: it is used only with the mutex held.
#define SEMEL_GUARDED_BY(mutex) SEMEL_THREAD_ANNOTATION(guarded_by(mutex))
// For a mutex: it is locked before the named one.
#define SEMEL_ACQUIRED_BEFORE(...) SEMEL_THREAD_ANNOTATION(acquired_before(__VA_ARGS__))

// For a function or a lambda: its caller holds the mutex; or does not, because it locks.
#define SEMEL_REQUIRES(...) SEMEL_THREAD_ANNOTATION(requires_capability(__VA_ARGS__))
#define SEMEL_REQUIRES_SHARED(...) SEMEL_THREAD_ANNOTATION(requires_shared_capability(__VA_ARGS__))
#define SEMEL_EXCLUDES(...) SEMEL_THREAD_ANNOTATION(locks_excluded(__VA_ARGS__))

// For a function that locks or unlocks, and is named so.
#define SEMEL_ACQUIRE(...) SEMEL_THREAD_ANNOTATION(acquire_capability(__VA_ARGS__))
#define SEMEL_ACQUIRE_SHARED(...) SEMEL_THREAD_ANNOTATION(acquire_shared_capability(__VA_ARGS__))
#define SEMEL_RELEASE(...) SEMEL_THREAD_ANNOTATION(release_capability(__VA_ARGS__))
#define SEMEL_RELEASE_SHARED(...) SEMEL_THREAD_ANNOTATION(release_shared_capability(__VA_ARGS__))
#define SEMEL_TRY_ACQUIRE(...) SEMEL_THREAD_ANNOTATION(try_acquire_capability(__VA_ARGS__))

// For a function that the check cannot follow. A comment next to it says why it is right.
#define SEMEL_NO_THREAD_SAFETY_ANALYSIS SEMEL_THREAD_ANNOTATION(no_thread_safety_analysis)
