// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Glibc
import Lastro
import LastroSupport

/// Reads standard input or a file as a whole.
enum StandardInput {
  /// The bytes of standard input, which several URLs may send.
  private static let bytes = Lock<[UInt8]?>(nil)

  static func readToEnd() throws -> [UInt8] {
    try bytes.withLock { bytes in
      let all = try bytes ?? read(STDIN_FILENO, "standard input")
      bytes = all
      return all
    }
  }

  /// - Throws: `TransportError` for a file that cannot be read.
  static func read(file path: String) throws -> [UInt8] {
    // Create a body only to check the file: it throws the same errors as for a file that is sent.
    _ = try RequestBody.file(path: path)
    let descriptor = uninterrupted { open(path, O_RDONLY | O_CLOEXEC) }
    defer { close(descriptor) }
    return try read(descriptor, path)
  }

  /// Returns the text of a file that an option names; `-` is standard input.
  ///
  /// - Throws: `ConfigurationError` for a file that cannot be read.
  static func text(_ path: String, of option: String) throws -> String {
    guard path != "-" else { return String(decoding: try readToEnd(), as: UTF8.self) }
    do {
      return String(decoding: try read(file: path), as: UTF8.self)
    } catch is TransportError {
      throw ConfigurationError(
        "\(option): the file \(path.onOneLine) cannot be read",
        hint: "check the path, and that this process may read it")
    }
  }

  private static func read(_ descriptor: Int32, _ name: String) throws -> [UInt8] {
    var result: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 64 * 1024)
    while true {
      let count = buffer.withUnsafeMutableBytes { Glibc.read(descriptor, $0.baseAddress, $0.count) }
      if count < 0 {
        if errno == EINTR { continue }
        throw ValidationError("\(name) cannot be read: \(String(cString: strerror(errno)))")
      }
      if count == 0 { return result }
      result += buffer[..<count]
    }
  }
}
