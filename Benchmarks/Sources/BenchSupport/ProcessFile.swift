// SPDX-License-Identifier: Apache-2.0

import Glibc

/// A reader of `/proc` files that does not use Foundation, whose memory would count as the client's.
enum ProcessFile {
  /// Returns a value of `/proc/self/status` in KiB, such as `VmHWM`, the peak resident memory.
  static func memory(_ name: String) throws(BenchFailure) -> Int {
    let lines = try text("/proc/self/status").split(separator: "\n")
    let words = lines.first { $0.hasPrefix("\(name):") }?.split(whereSeparator: \.isWhitespace)
    guard let words, words.count > 1, let number = Int(words[1]) else {
      throw .failed("/proc/self/status has no \(name)")
    }
    return number
  }

  private static func text(_ path: String) throws(BenchFailure) -> String {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw .failed("\(path): \(String(cString: strerror(errno)))") }
    defer { close(descriptor) }
    var buffer = [UInt8](repeating: 0, count: 1 << 14)
    let count = read(descriptor, &buffer, buffer.count)
    guard count >= 0 else { throw .failed("\(path): \(String(cString: strerror(errno)))") }
    return String(decoding: buffer[..<count], as: UTF8.self)
  }
}
