// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// Makes a system call again for as long as signals interrupt it, and returns its result.
///
/// A call that waits fails with `EINTR` if a signal arrives whose handler was installed without `SA_RESTART`. The
/// program that uses the library decides on its handlers, so every call that waits may fail this way. A call on a
/// descriptor that does not block needs no repetition.
///
/// - Parameter call: a call that returns -1 and sets `errno` if it fails. It must not be `close`, which frees the
///   descriptor even if it is interrupted. A call with a time limit must compute the rest of it each time.
package func uninterrupted(_ call: () -> Int32) -> Int32 {
  while true {
    let result = call()
    if result != -1 || errno != EINTR { return result }
  }
}

/// Makes a system call that returns a number of bytes in the same way.
package func uninterrupted(_ call: () -> Int) -> Int {
  while true {
    let result = call()
    if result != -1 || errno != EINTR { return result }
  }
}
