// SPDX-License-Identifier: Apache-2.0

import Glibc

/// The resources that the process has used so far: wall clock time, and processor time of all its threads.
struct Usage {
  var wallNanoseconds: Int
  var userMicroseconds: Int
  var systemMicroseconds: Int

  static var now: Usage {
    var usage = rusage()
    getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return Usage(
      wallNanoseconds: time.tv_sec * 1_000_000_000 + time.tv_nsec,
      userMicroseconds: usage.ru_utime.tv_sec * 1_000_000 + usage.ru_utime.tv_usec,
      systemMicroseconds: usage.ru_stime.tv_sec * 1_000_000 + usage.ru_stime.tv_usec)
  }

  static func - (later: Usage, earlier: Usage) -> Usage {
    Usage(
      wallNanoseconds: later.wallNanoseconds - earlier.wallNanoseconds,
      userMicroseconds: later.userMicroseconds - earlier.userMicroseconds,
      systemMicroseconds: later.systemMicroseconds - earlier.systemMicroseconds)
  }
}
