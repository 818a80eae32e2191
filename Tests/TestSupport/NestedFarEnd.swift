// SPDX-License-Identifier: Apache-2.0

package import FoundationEssentials
package import Lastro
import LastroSupport
package import LastroTesting
internal import Testing

/// Reads what a client sends, at the other end of a stream in memory.
package struct NestedFarEnd {
  package let stream: MemoryStream

  package init(_ stream: MemoryStream) { self.stream = stream }

  package func read(_ count: Int) async throws -> [UInt8] {
    var bytes: [UInt8] = []
    while bytes.count < count {
      guard let more = try await stream.read(upTo: count - bytes.count) else { break }
      bytes += more
    }
    return bytes
  }

  package func readHead() async throws -> String {
    var bytes: [UInt8] = []
    while !bytes.suffix(4).elementsEqual("\r\n\r\n".utf8) {
      guard let more = try await stream.read(upTo: 1) else { break }
      bytes += more
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  package func readToEnd() async throws -> [UInt8] {
    var bytes: [UInt8] = []
    while let more = try await stream.read() { bytes += more }
    return bytes
  }

  package func write(_ bytes: [UInt8]) async throws { try await stream.write(Data(bytes)) }
  package func write(_ text: String) async throws { try await stream.write(Data(text.utf8)) }

  /// Sends back whatever comes, until the end.
  package func echo() async throws {
    while let bytes = try await stream.read() { try await stream.write(bytes) }
  }
}

/// What happened at the far end, in order.
package final class NestedLog<Element: Sendable>: Sendable {
  private let entries = Lock([Element]())

  package init() {}

  package var all: [Element] { entries.withLock { $0 } }
  package func add(_ entry: Element) { entries.withLock { $0.append(entry) } }
}

/// A dialer that refuses plain bytes to some hosts, as an engine with pins does.
package struct PinnedHostsDialer: Dialer {
  package let below: MemoryDialer
  package let pinned: Set<String>
  package let dialed = NestedLog<DialRequest>()

  package init(below: MemoryDialer, pinned: Set<String>) {
    self.below = below
    self.pinned = pinned
  }

  package func dial(_ request: DialRequest) async throws(TransportError) -> any ByteStream {
    dialed.add(request)
    try checkPlaintext(request)
    return try await below.dial(request)
  }

  package func checkPlaintext(_ request: DialRequest) throws(TransportError) {
    if request.role == .server, request.tls == nil, pinned.contains(request.host) {
      throw TransportError(stage: .trust, code: .plaintextRefused, message: "\(request.host) is pinned")
    }
  }
}

extension ByteStream {
  package func restOfTunnel() async throws(TransportError) -> Data {
    var all = Data()
    while let bytes = try await read() { all += bytes }
    return all
  }

  package func tunnelBytes(_ count: Int) async throws -> Data {
    var all = Data()
    while all.count < count { all += try #require(try await read(upTo: count - all.count)) }
    return all
  }
}
