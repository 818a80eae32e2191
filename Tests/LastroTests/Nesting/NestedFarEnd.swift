// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Lastro
import LastroSupport
import LastroTesting
import Testing

/// Reads what a client sends, at the other end of a stream in memory.
struct NestedFarEnd {
  let stream: MemoryStream

  init(_ stream: MemoryStream) { self.stream = stream }

  func read(_ count: Int) async throws -> [UInt8] {
    var bytes: [UInt8] = []
    while bytes.count < count {
      guard let more = try await stream.read(upTo: count - bytes.count) else { break }
      bytes += more
    }
    return bytes
  }

  func readHead() async throws -> String {
    var bytes: [UInt8] = []
    while !bytes.suffix(4).elementsEqual("\r\n\r\n".utf8) {
      guard let more = try await stream.read(upTo: 1) else { break }
      bytes += more
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  func readToEnd() async throws -> [UInt8] {
    var bytes: [UInt8] = []
    while let more = try await stream.read() { bytes += more }
    return bytes
  }

  func write(_ bytes: [UInt8]) async throws { try await stream.write(Data(bytes)) }
  func write(_ text: String) async throws { try await stream.write(Data(text.utf8)) }

  /// Sends back whatever comes, until the end.
  func echo() async throws {
    while let bytes = try await stream.read() { try await stream.write(bytes) }
  }
}

/// What happened at the far end, in order.
final class NestedLog<Element: Sendable>: Sendable {
  private let entries = Lock([Element]())

  var all: [Element] { entries.withLock { $0 } }
  func add(_ entry: Element) { entries.withLock { $0.append(entry) } }
}

/// A dialer that refuses plain bytes to some hosts, as an engine with pins does.
struct PinnedHostsDialer: Dialer {
  let below: MemoryDialer
  let pinned: Set<String>
  let dialed = NestedLog<DialRequest>()

  func dial(_ request: DialRequest) async throws(TransportError) -> any ByteStream {
    dialed.add(request)
    try checkPlaintext(request)
    return try await below.dial(request)
  }

  func checkPlaintext(_ request: DialRequest) throws(TransportError) {
    if request.role == .server, request.tls == nil, pinned.contains(request.host) {
      throw TransportError(stage: .trust, code: .plaintextRefused, message: "\(request.host) is pinned")
    }
  }
}

extension ByteStream {
  func restOfTunnel() async throws(TransportError) -> Data {
    var all = Data()
    while let bytes = try await read() { all += bytes }
    return all
  }

  func tunnelBytes(_ count: Int) async throws -> Data {
    var all = Data()
    while all.count < count { all += try #require(try await read(upTo: count - all.count)) }
    return all
  }
}

/// The error that an operation throws.
func nestedFailure<Value>(
  _ operation: () async throws -> Value, sourceLocation: SourceLocation = #_sourceLocation
) async throws -> TransportError {
  do {
    _ = try await operation()
  } catch let error as TransportError {
    return error
  }
  Issue.record("nothing was thrown", sourceLocation: sourceLocation)
  throw CancellationError()
}
