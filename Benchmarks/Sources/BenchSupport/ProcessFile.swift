// SPDX-License-Identifier: Apache-2.0

import Glibc

/// Reads files of `/proc`, without Foundation: what it brings along would be counted as the client's memory.
enum ProcessFile {
  static func text(_ path: String) throws(BenchFailure) -> String {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw .failed("\(path): \(String(cString: strerror(errno)))") }
    defer { close(descriptor) }
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 1 << 16)
    while true {
      let count = read(descriptor, &buffer, buffer.count)
      guard count >= 0 else { throw .failed("\(path): \(String(cString: strerror(errno)))") }
      if count == 0 { return String(decoding: bytes, as: UTF8.self) }
      bytes += buffer[..<count]
    }
  }

  /// A line of `/proc/self/status` in KiB, such as `VmHWM`, the most memory that was ever resident.
  static func memory(_ name: String) throws(BenchFailure) -> Int {
    let line = try text("/proc/self/status").split(separator: "\n").first { $0.hasPrefix("\(name):") }
    let number = line?.split(whereSeparator: \.isWhitespace).dropFirst().first.flatMap { Int($0) }
    guard let number else { throw .failed("/proc/self/status has no \(name)") }
    return number
  }
}
