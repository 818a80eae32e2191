// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// The texts of `errno` values.
enum SystemError {
  static func text(_ code: Int32) -> String { String(cString: strerror(code)) }
}
