// SPDX-License-Identifier: Apache-2.0

internal import Lastro

/// The reply of a SOCKS 5 proxy to a request (RFC 1928 §6). Its raw value is the `TransportError.engineCode` of a
/// refusal.
package enum SOCKS5Reply: UInt8, Sendable, Hashable, CaseIterable, CustomStringConvertible {
  /// The connection is established.
  case succeeded = 0
  /// The proxy reports no reason.
  case generalFailure = 1
  /// The proxy's rules forbid the connection.
  case notAllowed = 2
  /// The network cannot be reached.
  case networkUnreachable = 3
  /// The host cannot be reached, or its name has no address.
  case hostUnreachable = 4
  /// No server listens at the port.
  case connectionRefused = 5
  /// The TTL expired, or the attempt took too long.
  case expired = 6
  /// The proxy does not support CONNECT.
  case commandNotSupported = 7
  /// The proxy does not support this kind of address.
  case addressTypeNotSupported = 8

  /// The text of RFC 1928 §6.
  package var description: String {
    switch self {
    case .succeeded: "succeeded"
    case .generalFailure: "general SOCKS server failure"
    case .notAllowed: "connection not allowed by ruleset"
    case .networkUnreachable: "network unreachable"
    case .hostUnreachable: "host unreachable"
    case .connectionRefused: "connection refused"
    case .expired: "TTL expired"
    case .commandNotSupported: "command not supported"
    case .addressTypeNotSupported: "address type not supported"
    }
  }

  var hint: String? {
    switch self {
    case .succeeded: nil
    case .generalFailure: "look at the proxy's log"
    case .expired: "check the host: the proxy could not reach it in time"
    case .notAllowed: "let the proxy's rules allow this host and port"
    case .networkUnreachable, .hostUnreachable: "the proxy resolves the name: check it, and the proxy's network"
    case .connectionRefused: "check the port: the proxy works, and no program listens at the host's port"
    case .commandNotSupported: "check that it is a SOCKS 5 proxy for TCP"
    case .addressTypeNotSupported: "dial by name, or by an IPv4 address"
    }
  }
}
