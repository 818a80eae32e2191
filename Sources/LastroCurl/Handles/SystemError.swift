// SPDX-License-Identifier: Apache-2.0

#if canImport(Glibc)
  internal import Glibc
#endif

/// The texts of `errno` values.
enum SystemError {
  static func text(_ code: Int32) -> String { String(cString: strerror(code)) }
}
