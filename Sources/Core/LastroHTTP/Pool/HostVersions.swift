// SPDX-License-Identifier: Apache-2.0

internal import Lastro

/// The HTTP versions that connections to a host may use, and the version that the latest one uses.
struct HostVersions: Hashable {
  /// The time for which all requests use HTTP/1.1 after a server asked for that once (RFC 9113 §7, HTTP_1_1_REQUIRED).
  /// The server often means only one resource, such as one that needs a client certificate.
  private static let http1Span = Duration.seconds(300)

  private let isTLS: Bool
  /// Whether HTTP/2 may be used at all.
  private let allowsHTTP2: Bool
  /// Whether the latest connection used HTTP/2; `nil` before the first connection.
  private var spokeHTTP2: Bool?
  private var http1Until: Int64?

  init(_ version: ConnectionOptions.HTTPVersion, isTLS: Bool) {
    self.isTLS = isTLS
    allowsHTTP2 = version == .http2 || (isTLS && version == .automatic)
  }

  private func offersHTTP2(now: Int64) -> Bool { allowsHTTP2 && now >= http1Until ?? 0 }

  /// Returns whether all queued requests share one dial, because they will most likely share its connection.
  func sharesDials(now: Int64) -> Bool { offersHTTP2(now: now) && spokeHTTP2 != false }

  /// Returns the protocols to offer in the TLS handshake (RFC 7301).
  func offer(now: Int64) -> [String] { offersHTTP2(now: now) ? ["h2", "http/1.1"] : ["http/1.1"] }

  /// Records the protocol of a new connection, and returns whether it is HTTP/2.
  ///
  /// - Parameter choice: the protocol that the server chose in the handshake.
  mutating func learn(_ choice: String?) -> Bool {
    let isHTTP2 = isTLS ? choice == "h2" : allowsHTTP2
    spokeHTTP2 = isHTTP2
    return isHTTP2
  }

  /// Uses HTTP/1.1 for five minutes, if the server chooses the protocol in a TLS handshake.
  mutating func requireHTTP1(now: Int64) {
    guard isTLS else { return }
    http1Until = now.adding(Self.http1Span)
    spokeHTTP2 = false
  }
}
