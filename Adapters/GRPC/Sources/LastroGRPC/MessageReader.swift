// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import GRPCCore

/// Reads length-prefixed messages from the chunks of a body.
struct MessageReader {
  private static let prefixBytes = 5
  private let maximumBytes: Int
  /// The bytes that are left of earlier chunks.
  private var bytes: [UInt8] = []
  private var position = 0

  init(maximumBytes: Int) { self.maximumBytes = maximumBytes }

  mutating func append(_ chunk: Data) {
    if position == bytes.count {
      bytes.removeAll(keepingCapacity: true)
      position = 0
    } else if position > bytes.count / 2 {
      bytes.removeFirst(position)
      position = 0
    }
    bytes.append(contentsOf: chunk)
  }

  /// Returns the next message; `nil` if not all of it has arrived.
  ///
  /// - Throws: `RPCError` for a prefix that is not valid, and for a message above the limit, at its prefix.
  mutating func next() throws(RPCError) -> [UInt8]? {
    let left = bytes.count - position
    guard left > 0 else { return nil }
    switch bytes[position] {
    case 0: break
    case 1:
      throw RPCError(code: .internalError, message: "a message of the response is compressed, without a grpc-encoding")
    case let flag:
      throw RPCError(code: .internalError, message: "a message of the response begins with \(flag), neither 0 nor 1")
    }
    guard left >= Self.prefixBytes else { return nil }
    let count = bytes[position + 1..<position + Self.prefixBytes].reduce(0) { $0 << 8 | Int($1) }
    guard count <= maximumBytes else {
      throw RPCError(
        code: .resourceExhausted,
        message: "a message of the response has \(count) bytes, above the limit of \(maximumBytes): raise "
          + "maxResponseMessageBytes if the server is trusted")
    }
    guard left - Self.prefixBytes >= count else { return nil }
    let start = position + Self.prefixBytes
    position = start + count
    return Array(bytes[start..<position])
  }

  /// Throws an error if the body ended within a message.
  func checkEnd() throws(RPCError) {
    guard position < bytes.count else { return }
    throw RPCError(code: .internalError, message: "the response ended within a message")
  }
}
