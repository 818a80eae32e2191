// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import Lastro
internal import LastroSupport

/// A socket on which a query was sent.
struct StubSocket: Sendable {
  enum Way: Sendable {
    case datagrams(any DatagramStream)
    case bytes(any ByteStream)
  }

  let way: Way
  let countdown: Countdown

  /// Returns the next message.
  func receive() async throws(TransportError) -> [UInt8] {
    switch way {
    case .datagrams(let stream): return [UInt8](try await stream.receive(within: countdown.left))
    case .bytes(let stream):
      // RFC 1035 §4.2.2: a length of two bytes precedes each message.
      let length = try await read(2, from: stream)
      return try await read(Int(length[0]) << 8 | Int(length[1]), from: stream)
    }
  }

  private func read(_ count: Int, from stream: any ByteStream) async throws(TransportError) -> [UInt8] {
    var bytes: [UInt8] = []
    while bytes.count < count {
      guard let more = try await stream.read(upTo: count - bytes.count, within: countdown.left) else {
        throw .endsEarly
      }
      bytes += more
    }
    return bytes
  }

  func close() {
    switch way {
    case .datagrams(let stream): stream.close()
    case .bytes(let stream): stream.close()
    }
  }
}
