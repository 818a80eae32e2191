// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
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
