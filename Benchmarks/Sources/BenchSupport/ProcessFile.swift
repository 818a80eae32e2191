// SPDX-License-Identifier: Apache-2.0

import Glibc

/// Reads files of `/proc`, line by line and without Foundation: what that takes would be counted as the client's memory.
enum ProcessFile {
  static func forEachLine(_ path: String, _ body: (ArraySlice<UInt8>) -> Void) throws(BenchFailure) {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw .failed("\(path): \(String(cString: strerror(errno)))") }
    defer { close(descriptor) }
    var pending: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 1 << 14)
    while true {
      let count = read(descriptor, &buffer, buffer.count)
      guard count >= 0 else { throw .failed("\(path): \(String(cString: strerror(errno)))") }
      if count == 0 { break }
      pending += buffer[..<count]
      while let end = pending.firstIndex(of: UInt8(ascii: "\n")) {
        body(pending[..<end])
        pending.removeSubrange(...end)
      }
    }
    if !pending.isEmpty { body(pending[...]) }
  }

  /// A line of `/proc/self/status` in KiB, such as `VmHWM`, the most memory that was ever resident.
  static func memory(_ name: String) throws(BenchFailure) -> Int {
    var number: Int?
    try forEachLine("/proc/self/status") { line in
      guard line.starts(with: "\(name):".utf8) else { return }
      number = Int(String(decoding: line.filter { (0x30...0x39).contains($0) }, as: UTF8.self))
    }
    guard let number else { throw .failed("/proc/self/status has no \(name)") }
    return number
  }
}
