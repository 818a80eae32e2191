// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc
import Lastro

/// Counts and hashes a body, and writes it to a descriptor or keeps it in memory.
final class ResponseOutput {
  struct WriteFailure: Error, CustomStringConvertible {
    var description: String
    /// Whether the limit of `-m` passed during the write.
    var isTimeout = false
  }

  enum Target {
    case nowhere
    case memory
    case descriptor(Int32)
  }

  private(set) var count: Int64 = 0
  private(set) var kept = Data()
  private let target: Target
  private let hasher = try? MessageHasher()

  init(_ target: Target) { self.target = target }

  func write(_ chunk: Data) throws(WriteFailure) {
    count += Int64(chunk.count)
    hasher?.update(chunk)
    if let last = chunk.last { endsLine = last == 0x0A }
    switch target {
    case .nowhere: break
    case .memory: kept.append(chunk)
    case .descriptor(let descriptor): try Self.writeAll(chunk, to: descriptor)
    }
  }

  /// Whether the last byte ended a line, or nothing has been written.
  private(set) var endsLine = true

  /// Writes a head before a body. It is neither counted nor hashed.
  func writeHead(_ text: Data) throws(WriteFailure) {
    if case .descriptor(let descriptor) = target { try Self.writeAll(text, to: descriptor) }
  }

  func hexDigest() -> String? { try? hasher?.digest().hexadecimal }

  static func writeAll(_ data: Data, to descriptor: Int32) throws(WriteFailure) {
    var rest = data[...]
    while !rest.isEmpty {
      let piece = rest.prefix(try WriteDeadline.wait(for: descriptor))
      let written = piece.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
      if written < 0 {
        if errno == EINTR { continue }
        if errno == EAGAIN {
          try WriteDeadline.waitAfterRefusal(of: descriptor)
          continue
        }
        throw WriteFailure(description: "cannot write the body: \(String(cString: strerror(errno)))")
      }
      rest = rest.dropFirst(written)
    }
  }
}
