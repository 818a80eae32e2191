// SPDX-License-Identifier: Apache-2.0

internal import Lastro

/// The versions of HTTP that the connections to a host may speak, and the one they do.
struct HostVersions: Hashable {
  /// The time for which all requests go to a server over HTTP/1.1 after it asked for that once (RFC 9113 §7,
  /// HTTP_1_1_REQUIRED). Often it means one resource only, such as one that needs a client certificate.
  private static let http1Span = Duration.seconds(300)

  private static let both: [UInt8] = [2] + Array("h2".utf8) + http1
  private static let http1: [UInt8] = [8] + Array("http/1.1".utf8)

  private let isTLS: Bool
  /// Whether HTTP/2 may be spoken at all.
  private let allowsHTTP2: Bool
  /// Whether the latest connection spoke HTTP/2; `nil` before the first.
  private var spokeHTTP2: Bool?
  private var http1Until: Int64?

  init(_ version: ConnectionOptions.HTTPVersion, isTLS: Bool) {
    self.isTLS = isTLS
    allowsHTTP2 = version == .http2 || (isTLS && version == .automatic)
  }

  private func offersHTTP2(now: Int64) -> Bool { allowsHTTP2 && now >= http1Until ?? 0 }

  /// Whether all that wait share one dial: most likely they will share the connection.
  func sharesDials(now: Int64) -> Bool { offersHTTP2(now: now) && spokeHTTP2 != false }

  /// Returns the protocols to offer in the handshake (RFC 7301), and their wire form. In the clear HTTP/2 is known, or
  /// not spoken.
  func offer(now: Int64) -> (names: [String], wire: [UInt8]) {
    guard isTLS else { return ([], []) }
    return offersHTTP2(now: now) ? (["h2", "http/1.1"], Self.both) : (["http/1.1"], Self.http1)
  }

  /// Learns from a new connection, and returns whether it speaks HTTP/2.
  ///
  /// - Parameter choice: the server's in the handshake.
  mutating func learn(_ choice: String?) -> Bool {
    let isHTTP2 = isTLS ? choice == "h2" : allowsHTTP2
    spokeHTTP2 = isHTTP2
    return isHTTP2
  }

  /// Has HTTP/1.1 spoken for five minutes, where the server is free to choose.
  mutating func requireHTTP1(now: Int64) {
    guard isTLS else { return }
    http1Until = now.adding(Self.http1Span)
    spokeHTTP2 = false
  }
}
