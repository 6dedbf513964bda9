// Makes ThreadSanitizer see absl's locks. Debian's libabsl is not instrumented, so every access
// guarded by an absl::Mutex would be reported as a race. The definitions here are found before
// those of the library; they tell the sanitizer what happens and call the library's.
// For builds with -fsanitize=thread only.
#include <dlfcn.h>
#include <sanitizer/tsan_interface.h>

#include "absl/synchronization/blocking_counter.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"

// absl's own deadlock detector moves memory under a spin lock the sanitizer cannot see.
extern "C" const char* __tsan_default_suppressions() {
  return "race:absl::debian3::synchronization_internal::GraphCycles\n";
}

namespace {

template <typename Result, typename... Args>
auto Library(const char* mangled, Result (*)(Args...)) {
  return reinterpret_cast<Result (*)(Args...)>(dlsym(RTLD_NEXT, mangled));
}

constexpr unsigned kWrite = 0;
constexpr unsigned kRead = __tsan_mutex_read_lock;
constexpr unsigned kTry = __tsan_mutex_try_lock;
constexpr unsigned kFailed = __tsan_mutex_try_lock_failed;

void Released(void* mutex, unsigned flags) {
  __tsan_mutex_pre_unlock(mutex, flags);
  __tsan_mutex_post_unlock(mutex, flags);
}

// Gives the lock up, runs `wait` and has the lock again.
template <typename Wait>
auto Waits(void* mutex, Wait wait) {
  Released(mutex, kWrite);
  __tsan_mutex_pre_lock(mutex, kWrite);
  struct Locked {
    void* mutex;
    ~Locked() { __tsan_mutex_post_lock(mutex, kWrite, 0); }
  } locked{mutex};
  return wait();
}

}  // namespace

#define LIBRARY(mangled, ...) \
  static const auto library = Library(mangled, static_cast<__VA_ARGS__>(nullptr))

namespace absl {
ABSL_NAMESPACE_BEGIN

void Mutex::Lock() {
  LIBRARY("_ZN4absl7debian35Mutex4LockEv", void (*)(Mutex*));
  __tsan_mutex_pre_lock(this, kWrite);
  library(this);
  __tsan_mutex_post_lock(this, kWrite, 0);
}

void Mutex::Unlock() {
  LIBRARY("_ZN4absl7debian35Mutex6UnlockEv", void (*)(Mutex*));
  __tsan_mutex_pre_unlock(this, kWrite);
  library(this);
  __tsan_mutex_post_unlock(this, kWrite);
}

bool Mutex::TryLock() {
  LIBRARY("_ZN4absl7debian35Mutex7TryLockEv", bool (*)(Mutex*));
  __tsan_mutex_pre_lock(this, kTry);
  const bool locked = library(this);
  __tsan_mutex_post_lock(this, locked ? kTry : kTry | kFailed, 0);
  return locked;
}

void Mutex::ReaderLock() {
  LIBRARY("_ZN4absl7debian35Mutex10ReaderLockEv", void (*)(Mutex*));
  __tsan_mutex_pre_lock(this, kRead);
  library(this);
  __tsan_mutex_post_lock(this, kRead, 0);
}

void Mutex::ReaderUnlock() {
  LIBRARY("_ZN4absl7debian35Mutex12ReaderUnlockEv", void (*)(Mutex*));
  __tsan_mutex_pre_unlock(this, kRead);
  library(this);
  __tsan_mutex_post_unlock(this, kRead);
}

void Mutex::LockWhen(const Condition& condition) {
  LIBRARY("_ZN4absl7debian35Mutex8LockWhenERKNS0_9ConditionE", void (*)(Mutex*, const Condition*));
  __tsan_mutex_pre_lock(this, kWrite);
  library(this, &condition);
  __tsan_mutex_post_lock(this, kWrite, 0);
}

void Mutex::Await(const Condition& condition) {
  LIBRARY("_ZN4absl7debian35Mutex5AwaitERKNS0_9ConditionE", void (*)(Mutex*, const Condition*));
  Waits(this, [&] { library(this, &condition); });
}

bool Mutex::AwaitWithTimeout(const Condition& condition, Duration timeout) {
  LIBRARY("_ZN4absl7debian35Mutex16AwaitWithTimeoutERKNS0_9ConditionENS0_8DurationE",
          bool (*)(Mutex*, const Condition*, Duration));
  return Waits(this, [&] { return library(this, &condition, timeout); });
}

bool Mutex::AwaitWithDeadline(const Condition& condition, Time deadline) {
  LIBRARY("_ZN4absl7debian35Mutex17AwaitWithDeadlineERKNS0_9ConditionENS0_4TimeE",
          bool (*)(Mutex*, const Condition*, Time));
  return Waits(this, [&] { return library(this, &condition, deadline); });
}

void CondVar::Wait(Mutex* mutex) {
  LIBRARY("_ZN4absl7debian37CondVar4WaitEPNS0_5MutexE", void (*)(CondVar*, Mutex*));
  Waits(mutex, [&] { library(this, mutex); });
}

bool CondVar::WaitWithTimeout(Mutex* mutex, Duration timeout) {
  LIBRARY("_ZN4absl7debian37CondVar15WaitWithTimeoutEPNS0_5MutexENS0_8DurationE",
          bool (*)(CondVar*, Mutex*, Duration));
  return Waits(mutex, [&] { return library(this, mutex, timeout); });
}

bool CondVar::WaitWithDeadline(Mutex* mutex, Time deadline) {
  LIBRARY("_ZN4absl7debian37CondVar16WaitWithDeadlineEPNS0_5MutexENS0_4TimeE",
          bool (*)(CondVar*, Mutex*, Time));
  return Waits(mutex, [&] { return library(this, mutex, deadline); });
}

// HasBeenNotified reads the flag behind the mutex with an acquiring load of the header's.
void Notification::Notify() {
  LIBRARY("_ZN4absl7debian312Notification6NotifyEv", void (*)(Notification*));
  __tsan_release(reinterpret_cast<char*>(this) + sizeof(Mutex));
  library(this);
}

void Notification::WaitForNotification() const {
  LIBRARY("_ZNK4absl7debian312Notification19WaitForNotificationEv", void (*)(const Notification*));
  library(this);
  __tsan_acquire(const_cast<char*>(reinterpret_cast<const char*>(this)) + sizeof(Mutex));
}

bool Notification::WaitForNotificationWithTimeout(Duration timeout) const {
  LIBRARY("_ZNK4absl7debian312Notification30WaitForNotificationWithTimeoutENS0_8DurationE",
          bool (*)(const Notification*, Duration));
  const bool notified = library(this, timeout);
  if (notified) {
    __tsan_acquire(const_cast<char*>(reinterpret_cast<const char*>(this)) + sizeof(Mutex));
  }
  return notified;
}

bool BlockingCounter::DecrementCount() {
  LIBRARY("_ZN4absl7debian315BlockingCounter14DecrementCountEv", bool (*)(BlockingCounter*));
  __tsan_release(this);
  return library(this);
}

void BlockingCounter::Wait() {
  LIBRARY("_ZN4absl7debian315BlockingCounter4WaitEv", void (*)(BlockingCounter*));
  library(this);
  __tsan_acquire(this);
}

ABSL_NAMESPACE_END
}  // namespace absl
