// SPDX-License-Identifier: Apache-2.0

internal import Lastro

/// What a SOCKS 5 proxy answers to a request (RFC 1928 §6). `TransportError.engineCode` of a refusal is its raw value.
public enum SOCKS5Reply: UInt8, Sendable, Hashable, CaseIterable, CustomStringConvertible {
  /// The connection stands.
  case succeeded = 0
  /// The proxy gives no reason.
  case generalFailure = 1
  /// The proxy's rules forbid it.
  case notAllowed = 2
  /// There is no way to the network.
  case networkUnreachable = 3
  /// There is no way to the host, or its name has no address.
  case hostUnreachable = 4
  /// Nobody listens there.
  case connectionRefused = 5
  /// The way was too long, or took too long.
  case expired = 6
  /// The proxy does not do CONNECT.
  case commandNotSupported = 7
  /// The proxy does not take this kind of address.
  case addressTypeNotSupported = 8

  /// The words of RFC 1928 §6.
  public var description: String {
    switch self {
    case .succeeded: "succeeded"
    case .generalFailure: "general SOCKS server failure"
    case .notAllowed: "connection not allowed by ruleset"
    case .networkUnreachable: "Network unreachable"
    case .hostUnreachable: "Host unreachable"
    case .connectionRefused: "Connection refused"
    case .expired: "TTL expired"
    case .commandNotSupported: "Command not supported"
    case .addressTypeNotSupported: "Address type not supported"
    }
  }

  var hint: String? {
    switch self {
    case .succeeded, .generalFailure, .expired: nil
    case .notAllowed: "the proxy's rules have to let this host and port through"
    case .networkUnreachable, .hostUnreachable: "the proxy resolves the name: check it, and the proxy's network"
    case .connectionRefused: "the proxy works, and nobody listens at the host's port"
    case .commandNotSupported: "is it a SOCKS 5 proxy for TCP?"
    case .addressTypeNotSupported: "dial by name, or by an IPv4 address"
    }
  }
}
