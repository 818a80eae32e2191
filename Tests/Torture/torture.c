// SPDX-License-Identifier: Apache-2.0
// A library to preload into a client. It counts the calls that can fail, and fails one of them:
//
//   TORTURE_FAIL=KIND:N        the N-th call of a kind fails, with an errno that the kernel would give
//   TORTURE_FAIL=memory:STACK  the first allocation fails that is made from this call stack
//   TORTURE_REPORT=FILE        the report: `hit`, `crash`, and at the exit `calls`, `memory` and `end`, one line each
//
// Memory fails by the module of the caller, because that covers what the hooks of libcurl, OpenSSL, nghttp2 and zlib
// cover, and our C and SQLite, too. Swift's own allocations are made by its runtime, and never fail here.
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <link.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <unistd.h>

typedef enum { READ, WRITE, OPEN, SOCKET, CONNECT, EPOLL, MMAP, THREAD, LOOKUP, FILES, OPTION, WAIT, KINDS } kind;
static const char *const kind_names[KINDS] = {
  "read", "write", "open", "socket", "connect", "epoll_ctl", "mmap", "thread", "lookup", "files", "option", "wait",
};

static struct {
  int fail, report;
  long number;
  uint64_t stack;
  bool lists, is_memory;
} plan = {.fail = -1, .report = -1};
static atomic_bool is_armed;
static atomic_long counts[KINDS];
// The number of threads that run, without those of libdispatch.
static atomic_int threads;
static atomic_flag was_hit = ATOMIC_FLAG_INIT;
// Set while a thread is in here, so that what it calls is neither counted nor failed.
static __thread bool is_inside __attribute__((tls_model("initial-exec")));

#define MODULES 16
static struct { uintptr_t start, end; } modules[MODULES];
static int module_count;

#define STACKS (1 << 16)
static struct stack { _Atomic uint64_t hash; void *caller; } *stacks;

static void say(const char *format, ...) {
  char text[4096];
  va_list arguments;
  va_start(arguments, format);
  int length = vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  if (plan.report >= 0) syscall(SYS_write, plan.report, text, length < (int)sizeof text ? length : (int)sizeof text);
}

// Writes MODULE+OFFSET:SYMBOL of an address.
static int name_of(void *address, char *text, size_t size) {
  Dl_info info;
  if (!dladdr(address, &info) || !info.dli_fname) return snprintf(text, size, "?");
  const char *slash = strrchr(info.dli_fname, '/');
  return snprintf(
    text, size, "%s+%lx:%s", slash ? slash + 1 : info.dli_fname, (long)((char *)address - (char *)info.dli_fbase),
    info.dli_sname ? info.dli_sname : "?");
}

static void say_stack(const char *line) {
  void *frames[32];
  char text[3800];
  size_t length = 0;
  int count = backtrace(frames, 32);
  for (int i = 1; i < count && length < sizeof text - 300; i++) {
    text[length++] = ' ';
    int written = name_of(frames[i], text + length, 280);
    length += written < 280 ? written : 279;
  }
  text[length] = 0;
  say("%s%s\n", line, text);
}

// Counts a call. Returns whether it is to fail.
static bool fails(kind kind, const char *function) {
  if (!atomic_load_explicit(&is_armed, memory_order_relaxed) || is_inside) return false;
  long number = atomic_fetch_add(&counts[kind], 1) + 1;
  if ((int)kind != plan.fail || number != plan.number) return false;
  is_inside = true;
  char line[100];
  snprintf(line, sizeof line, "hit %s %ld %s", kind_names[kind], number, function);
  say_stack(line);
  is_inside = false;
  return true;
}

// MARK: The process

static int find_modules(struct dl_phdr_info *info, size_t size, void *unused) {
  static const char *const names[] = {"/libcurl", "/libcrypto", "/libssl", "/libnghttp2", "/libz.", "/libsqlite3"};
  // The program itself comes first and has no name.
  bool found = !*info->dlpi_name;
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) found |= strstr(info->dlpi_name, names[i]) != NULL;
  for (int i = 0; found && i < info->dlpi_phnum && module_count < MODULES; i++) {
    const ElfW(Phdr) *part = &info->dlpi_phdr[i];
    if (part->p_type != PT_LOAD || !(part->p_flags & PF_X)) continue;
    modules[module_count].start = info->dlpi_addr + part->p_vaddr;
    modules[module_count++].end = info->dlpi_addr + part->p_vaddr + part->p_memsz;
  }
  return 0;
}

static void crashed(int signal) {
  static atomic_flag is_crashing = ATOMIC_FLAG_INIT;
  is_inside = true;
  alarm(5);
  // Another thread is saying its stack, and then ends the process.
  while (atomic_flag_test_and_set(&is_crashing)) pause();
  char line[40];
  snprintf(line, sizeof line, "crash %d", signal);
  say_stack(line);
  sigaction(signal, &(struct sigaction){.sa_handler = SIG_DFL}, NULL);
  raise(signal);
}

static void start(void) {
  const char *fail = getenv("TORTURE_FAIL"), *report = getenv("TORTURE_REPORT");
  if (!report) return;
  int file = open(report, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  plan.report = fcntl(file, F_DUPFD_CLOEXEC, 900);
  close(file);
  // Loads the unwinder, which libc keeps.
  void *frame;
  is_inside = true;
  backtrace(&frame, 1);
  is_inside = false;
  dl_iterate_phdr(find_modules, NULL);
  const char *colon = fail ? strchr(fail, ':') : NULL;
  if (colon && !strncmp(fail, "memory", 6)) {
    plan.is_memory = true;
    plan.stack = strtoull(colon + 1, NULL, 16);
    plan.lists = !plan.stack;
    if (plan.lists)
      stacks = mmap(NULL, STACKS * sizeof *stacks, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  } else if (colon) {
    for (int i = 0; i < KINDS; i++)
      if (!strncmp(fail, kind_names[i], colon - fail) && !kind_names[i][colon - fail]) plan.fail = i;
    plan.number = strtol(colon + 1, NULL, 10);
  }
  struct sigaction action = {.sa_handler = crashed};
  static const int signals[] = {SIGSEGV, SIGBUS, SIGILL, SIGTRAP, SIGFPE, SIGABRT};
  for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) sigaction(signals[i], &action, NULL);
  atomic_store(&is_armed, true);
}

#define KEPT 1024
static void *openers[KEPT];

// Keeps the caller that opened a descriptor.
static int opened(int descriptor, void *caller) {
  if (descriptor >= 0 && descriptor < KEPT) openers[descriptor] = caller;
  return descriptor;
}

// Returns whether an address is in libdispatch, whose threads and descriptors last as long as the process.
static bool is_in_dispatch(void *address) {
  Dl_info info;
  return address && dladdr(address, &info) && info.dli_fname && strstr(info.dli_fname, "libdispatch");
}

// Writes where the remaining descriptors lead, and who opened them. Returns their number.
static int list_descriptors(char *line, size_t size) {
  char path[64], target[300], name[300];
  size_t length = 0;
  int count = 0;
  DIR *folder = opendir("/proc/self/fd");
  *line = 0;
  for (struct dirent *entry; folder && (entry = readdir(folder));) {
    int number = atoi(entry->d_name);
    if (*entry->d_name == '.' || number < 3 || number == plan.report || number == dirfd(folder)) continue;
    void *opener = number < KEPT ? openers[number] : NULL;
    if (is_in_dispatch(opener)) continue;
    snprintf(path, sizeof path, "/proc/self/fd/%d", number);
    ssize_t ending = readlink(path, target, sizeof target - 1);
    target[ending > 0 ? ending : 0] = 0;
    name_of(opener, name, sizeof name);
    if (length < size - 640) length += sprintf(line + length, " %s=%s", target, name);
    count++;
  }
  if (folder) closedir(folder);
  return count;
}

__attribute__((destructor)) static void finish(void) {
  if (!atomic_exchange(&is_armed, false)) return;
  is_inside = true;
  char line[500];
  int length = 0;
  for (int i = 0; i < KINDS; i++) length += sprintf(line + length, " %s=%ld", kind_names[i], atomic_load(&counts[i]));
  say("calls%s\n", line);
  for (int i = 0; stacks && i < STACKS; i++)
    if (stacks[i].hash) {
      char name[300];
      name_of(stacks[i].caller, name, sizeof name);
      say("memory %lx %s\n", (long)stacks[i].hash, name);
    }
  // Threads that are no longer needed may still be ending.
  char left[3800] = "";
  for (int i = 0; i < 3000 && (atomic_load(&threads) || list_descriptors(left, sizeof left)); i++) usleep(1000);
  say("descriptors%s\n", left);
  say("end %d\n", atomic_load(&threads));
}

#define REAL(name) \
  static __typeof__(&name) real; \
  if (!real) real = (__typeof__(real))dlsym(RTLD_NEXT, #name)

int __libc_start_main(int (*main)(int, char **, char **), int, char **, void (*)(void), void (*)(void), void (*)(void), void *);
int __libc_start_main(
  int (*main)(int, char **, char **), int count, char **arguments, void (*init)(void), void (*fini)(void),
  void (*linker)(void), void *end) {
  REAL(__libc_start_main);
  start();
  return real(main, count, arguments, init, fini, linker, end);
}

// MARK: Memory

static bool fails_memory(void *caller) {
  if (!plan.is_memory || is_inside || !atomic_load_explicit(&is_armed, memory_order_relaxed)) return false;
  int module = 0;
  while (module < module_count && ((uintptr_t)caller < modules[module].start || (uintptr_t)caller >= modules[module].end))
    module++;
  if (module == module_count) return false;
  is_inside = true;
  void *frames[40];
  int count = backtrace(frames, 40);
  uint64_t hash = 14695981039346656037u;
  for (int i = 2; i < count; i++) hash = (hash ^ (uintptr_t)frames[i]) * 1099511628211u;
  hash |= hash == 0;
  bool result = false;
  if (plan.lists) {
    for (size_t place = hash % STACKS, tries = 0; tries < STACKS; place = (place + 1) % STACKS, tries++) {
      uint64_t empty = 0;
      if (atomic_compare_exchange_strong(&stacks[place].hash, &empty, hash)) stacks[place].caller = caller;
      if (!empty || empty == hash) break;
    }
  } else if (hash == plan.stack && !atomic_flag_test_and_set(&was_hit)) {
    result = true;
    say_stack("hit memory 1 allocation");
  }
  is_inside = false;
  return result;
}

#define MEMORY(type, name, parameters, values, failure) \
  type name parameters { \
    REAL(name); \
    if (fails_memory(__builtin_return_address(0))) return failure; \
    return real values; \
  }

static void *no_memory(void) { return errno = ENOMEM, NULL; }
MEMORY(void *, malloc, (size_t size), (size), no_memory())
MEMORY(void *, calloc, (size_t count, size_t size), (count, size), no_memory())
MEMORY(void *, realloc, (void *old, size_t size), (old, size), no_memory())
MEMORY(char *, strdup, (const char *text), (text), no_memory())
MEMORY(char *, strndup, (const char *text, size_t size), (text, size), no_memory())
MEMORY(int, posix_memalign, (void **place, size_t unit, size_t size), (place, unit, size), ENOMEM)

// MARK: System calls

// Returns the errno of a failed transfer; 0 for descriptors of which none can fail, such as an eventfd.
static int transfer_errno(int descriptor, bool writes) {
  struct stat facts;
  is_inside = true;
  int result = fstat(descriptor, &facts);
  is_inside = false;
  if (result) return 0;
  if (S_ISSOCK(facts.st_mode)) return ECONNRESET;
  if (S_ISREG(facts.st_mode)) return writes ? ENOSPC : EIO;
  if (S_ISFIFO(facts.st_mode) || S_ISCHR(facts.st_mode)) return writes ? EPIPE : EIO;
  return 0;
}

#define TRANSFER(type, kind, name, parameters, values) \
  type name parameters { \
    REAL(name); \
    int error = is_inside ? 0 : transfer_errno(descriptor, kind == WRITE); \
    if (error && fails(kind, #name)) return errno = error, -1; \
    return real values; \
  }

TRANSFER(ssize_t, READ, read, (int descriptor, void *bytes, size_t size), (descriptor, bytes, size))
TRANSFER(ssize_t, READ, readv, (int descriptor, const struct iovec *parts, int count), (descriptor, parts, count))
TRANSFER(ssize_t, READ, pread, (int descriptor, void *bytes, size_t size, off_t at), (descriptor, bytes, size, at))
TRANSFER(ssize_t, READ, pread64, (int descriptor, void *bytes, size_t size, off_t at), (descriptor, bytes, size, at))
TRANSFER(ssize_t, READ, recv, (int descriptor, void *bytes, size_t size, int flags), (descriptor, bytes, size, flags))
TRANSFER(ssize_t, READ, recvmsg, (int descriptor, struct msghdr *message, int flags), (descriptor, message, flags))
TRANSFER(
  ssize_t, READ, recvfrom,
  (int descriptor, void *bytes, size_t size, int flags, struct sockaddr *address, socklen_t *length),
  (descriptor, bytes, size, flags, address, length))
TRANSFER(ssize_t, WRITE, write, (int descriptor, const void *bytes, size_t size), (descriptor, bytes, size))
TRANSFER(ssize_t, WRITE, writev, (int descriptor, const struct iovec *parts, int count), (descriptor, parts, count))
TRANSFER(
  ssize_t, WRITE, pwrite, (int descriptor, const void *bytes, size_t size, off_t at), (descriptor, bytes, size, at))
TRANSFER(
  ssize_t, WRITE, pwrite64, (int descriptor, const void *bytes, size_t size, off_t at), (descriptor, bytes, size, at))
TRANSFER(
  ssize_t, WRITE, send, (int descriptor, const void *bytes, size_t size, int flags), (descriptor, bytes, size, flags))
TRANSFER(ssize_t, WRITE, sendmsg, (int descriptor, const struct msghdr *message, int flags), (descriptor, message, flags))
TRANSFER(
  ssize_t, WRITE, sendto,
  (int descriptor, const void *bytes, size_t size, int flags, const struct sockaddr *address, socklen_t length),
  (descriptor, bytes, size, flags, address, length))

#define CALL(kind, type, name, parameters, values, error, failure) \
  type name parameters { \
    REAL(name); \
    if (fails(kind, #name)) return errno = error, failure; \
    return real values; \
  }

#define OPENING(name) \
  int name(const char *path, int flags, ...) { \
    REAL(name); \
    va_list arguments; \
    va_start(arguments, flags); \
    int mode = va_arg(arguments, int); \
    va_end(arguments); \
    if (fails(OPEN, #name)) return errno = EMFILE, -1; \
    return opened(real(path, flags, mode), __builtin_return_address(0)); \
  }
OPENING(open)
OPENING(open64)

int openat(int folder, const char *path, int flags, ...) {
  REAL(openat);
  va_list arguments;
  va_start(arguments, flags);
  int mode = va_arg(arguments, int);
  va_end(arguments);
  if (fails(OPEN, "openat")) return errno = EMFILE, -1;
  return opened(real(folder, path, flags, mode), __builtin_return_address(0));
}

CALL(OPEN, FILE *, fopen, (const char *path, const char *mode), (path, mode), EMFILE, NULL)
CALL(OPEN, FILE *, fopen64, (const char *path, const char *mode), (path, mode), EMFILE, NULL)
CALL(OPEN, DIR *, opendir, (const char *path), (path), EMFILE, NULL)
CALL(OPEN, int, mkstemp, (char *path), (path), EMFILE, -1)
#define MAKING(name, parameters, values) \
  int name parameters { \
    REAL(name); \
    if (fails(SOCKET, #name)) return errno = EMFILE, -1; \
    return opened(real values, __builtin_return_address(0)); \
  }
MAKING(socket, (int family, int type, int protocol), (family, type, protocol))
CALL(SOCKET, int, socketpair, (int family, int type, int protocol, int two[2]), (family, type, protocol, two), EMFILE, -1)
CALL(SOCKET, int, pipe2, (int two[2], int flags), (two, flags), EMFILE, -1)
MAKING(epoll_create1, (int flags), (flags))
MAKING(eventfd, (unsigned count, int flags), (count, flags))
MAKING(signalfd, (int old, const sigset_t *signals, int flags), (old, signals, flags))
MAKING(timerfd_create, (int clock, int flags), (clock, flags))
CALL(CONNECT, int, connect, (int socket, const struct sockaddr *address, socklen_t size), (socket, address, size), ECONNREFUSED, -1)
CALL(EPOLL, int, epoll_ctl, (int epoll, int operation, int descriptor, struct epoll_event *event), (epoll, operation, descriptor, event),
     ENOSPC, -1)
CALL(WAIT, int, epoll_wait, (int epoll, struct epoll_event *events, int count, int limit), (epoll, events, count, limit), EINTR, -1)
CALL(WAIT, int, poll, (struct pollfd *descriptors, nfds_t count, int limit), (descriptors, count, limit), EINTR, -1)
CALL(MMAP, void *, mmap, (void *at, size_t size, int access, int flags, int descriptor, off_t from),
     (at, size, access, flags, descriptor, from), ENOMEM, MAP_FAILED)
CALL(MMAP, void *, mmap64, (void *at, size_t size, int access, int flags, int descriptor, off_t from),
     (at, size, access, flags, descriptor, from), ENOMEM, MAP_FAILED)
struct thread { void *(*body)(void *), *value; };

static void thread_ended(void *unused) { atomic_fetch_sub(&threads, 1); }

static void *run_thread(void *made) {
  struct thread thread = *(struct thread *)made;
  free(made);
  void *result;
  pthread_cleanup_push(thread_ended, NULL);
  result = thread.body(thread.value);
  pthread_cleanup_pop(1);
  return result;
}

int pthread_create(pthread_t *place, const pthread_attr_t *attributes, void *(*body)(void *), void *value) {
  REAL(pthread_create);
  if (fails(THREAD, "pthread_create")) return EAGAIN;
  if (is_in_dispatch(__builtin_return_address(0))) return real(place, attributes, body, value);
  struct thread *made = malloc(sizeof *made);
  *made = (struct thread){body, value};
  atomic_fetch_add(&threads, 1);
  int error = real(place, attributes, run_thread, made);
  if (error) free(made), thread_ended(NULL);
  return error;
}

// Answers for names of the domain `test` without the network.
int getaddrinfo(const char *host, const char *port, const struct addrinfo *hints, struct addrinfo **list) {
  REAL(getaddrinfo);
  if (fails(LOOKUP, "getaddrinfo")) return EAI_AGAIN;
  return real(host && strstr(host, ".test") ? "127.0.0.1" : host, port, hints, list);
}

CALL(FILES, int, fsync, (int file), (file), EIO, -1)
CALL(FILES, int, fdatasync, (int file), (file), EIO, -1)
CALL(FILES, int, ftruncate, (int file, off_t size), (file, size), EIO, -1)
CALL(FILES, int, ftruncate64, (int file, off_t size), (file, size), EIO, -1)
CALL(FILES, int, posix_fallocate, (int file, off_t from, off_t size), (file, from, size), ENOSPC, ENOSPC)
CALL(FILES, int, rename, (const char *old, const char *new), (old, new), EACCES, -1)
CALL(FILES, int, renameat, (int from, const char *old, int to, const char *new), (from, old, to, new), EACCES, -1)
CALL(FILES, int, linkat, (int from, const char *old, int to, const char *new, int flags), (from, old, to, new, flags),
     EMLINK, -1)
CALL(FILES, int, unlink, (const char *path), (path), EACCES, -1)
CALL(FILES, int, mkdir, (const char *path, mode_t mode), (path, mode), EACCES, -1)
CALL(FILES, int, fchmod, (int file, mode_t mode), (file, mode), EPERM, -1)
CALL(FILES, int, fstat, (int file, struct stat *facts), (file, facts), EIO, -1)
CALL(FILES, int, fstat64, (int file, struct stat64 *facts), (file, facts), EIO, -1)
CALL(FILES, int, stat, (const char *path, struct stat *facts), (path, facts), EACCES, -1)
CALL(FILES, int, stat64, (const char *path, struct stat64 *facts), (path, facts), EACCES, -1)
CALL(FILES, int, lstat, (const char *path, struct stat *facts), (path, facts), EACCES, -1)
CALL(FILES, int, flock, (int file, int operation), (file, operation), ENOLCK, -1)
CALL(FILES, off_t, lseek, (int file, off_t to, int from), (file, to, from), EIO, -1)
CALL(OPTION, int, setsockopt, (int socket, int level, int name, const void *value, socklen_t size),
     (socket, level, name, value, size), ENOBUFS, -1)
CALL(OPTION, int, getsockopt, (int socket, int level, int name, void *value, socklen_t *size),
     (socket, level, name, value, size), ENOBUFS, -1)
CALL(OPTION, int, getsockname, (int socket, struct sockaddr *address, socklen_t *size), (socket, address, size), ENOBUFS, -1)
CALL(OPTION, int, getpeername, (int socket, struct sockaddr *address, socklen_t *size), (socket, address, size), ENOTCONN, -1)
CALL(OPTION, int, bind, (int socket, const struct sockaddr *address, socklen_t size), (socket, address, size), EADDRINUSE, -1)
CALL(OPTION, int, listen, (int socket, int backlog), (socket, backlog), EADDRINUSE, -1)
CALL(OPTION, int, accept4, (int socket, struct sockaddr *address, socklen_t *size, int flags), (socket, address, size, flags),
     EMFILE, -1)

#define CONTROL(name) \
  int name(int descriptor, int command, ...) { \
    REAL(name); \
    va_list arguments; \
    va_start(arguments, command); \
    void *value = va_arg(arguments, void *); \
    va_end(arguments); \
    bool opens = command == F_DUPFD || command == F_DUPFD_CLOEXEC; \
    /* Unlocking cannot fail. */ \
    bool locks = command == F_SETLK && ((struct flock *)value)->l_type != F_UNLCK; \
    if ((opens || locks) && fails(OPTION, #name)) return errno = opens ? EMFILE : ENOLCK, -1; \
    return real(descriptor, command, value); \
  }
CONTROL(fcntl)
CONTROL(fcntl64)
