// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import Glibc
internal import Lastro
internal import LastroSupport
internal import LastroWire

/// The sockets of a stub resolver, over any dialer.
struct StubSockets: Sendable {
  let dialer: any Dialer
  let time: TimeSource

  /// Opens a socket, and sends a query.
  ///
  /// - Parameter limit: the time for sending and receiving.
  func send(
    _ message: [UInt8], to server: MemberAddress, _ way: DNSExchange.Way, within limit: Duration
  ) async throws(TransportError) -> StubSocket {
    let countdown = Countdown(limit, now: time.now)
    var request = DialRequest(host: server.host, port: server.port ?? 53, connectTimeout: limit)
    // A proxy for fetches is none for DNS.
    var options = ConnectionOptions()
    options.proxy = .none
    request.connection = options
    switch way {
    case .datagram:
      let stream = try await dialer.dialDatagrams(request)
      try await stream.send(Data(message), within: countdown.left)
      return StubSocket(way: .datagrams(stream), countdown: countdown)
    case .stream:
      let stream = try await dialer.dial(request)
      let length = [UInt8(message.count >> 8), UInt8(message.count & 0xFF)]
      try await stream.write(Data(length + message), within: countdown.left)
      return StubSocket(way: .bytes(stream), countdown: countdown)
    }
  }
}

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

/// A file of the system that is read whole.
enum SmallFile {
  /// Returns the bytes of a file, at most as many as given; none if it cannot be read.
  static func bytes(of path: String, atMost most: Int) -> [UInt8] {
    guard !path.utf8.contains(0) else { return [] }
    let descriptor = uninterrupted { open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) }
    guard descriptor >= 0 else { return [] }
    defer { close(descriptor) }
    var bytes: [UInt8] = []
    while bytes.count < most {
      let wanted = min(65_536, most - bytes.count)
      let piece = [UInt8](unsafeUninitializedCapacity: wanted) { memory, count in
        count = max(0, uninterrupted { read(descriptor, memory.baseAddress, wanted) })
      }
      if piece.isEmpty { break }
      bytes += piece
    }
    return bytes
  }
}
