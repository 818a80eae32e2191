// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Glibc

/// Standard input as a whole.
enum StandardInput {
  static func readToEnd() throws -> [UInt8] {
    var result: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 64 * 1024)
    while true {
      let count = buffer.withUnsafeMutableBytes { read(STDIN_FILENO, $0.baseAddress, $0.count) }
      if count < 0 {
        if errno == EINTR { continue }
        throw ValidationError("standard input cannot be read: \(String(cString: strerror(errno)))")
      }
      if count == 0 { return result }
      result += buffer[..<count]
    }
  }
}
