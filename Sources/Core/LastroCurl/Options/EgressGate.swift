// SPDX-License-Identifier: Apache-2.0

internal import CLastro
internal import Lastro
internal import LastroHTTP
internal import LastroWire

/// Checks the address of every socket before libcurl opens it, so that none is opened to an address that the rules
/// deny.
///
/// Owner: the stream. Thread: the loop's.
final class EgressGate {
  private let rules: EgressRules
  private let poller: Poller
  /// The reason why an address was denied, if one was.
  private var denial: EgressRules.Denial?
  /// Whether an address was allowed.
  private var hasOpened = false

  init(_ rules: EgressRules, poller: Poller) {
    self.rules = rules
    self.poller = poller
  }

  static let openSocket: curl_opensocket_callback = { gate, purpose, address in
    guard let gate, let address else { return CURL_SOCKET_BAD }
    let owner = Unmanaged<EgressGate>.fromOpaque(gate).takeUnretainedValue()
    guard owner.admits(address) else { return CURL_SOCKET_BAD }
    return Poller.openSocket(Unmanaged.passUnretained(owner.poller).toOpaque(), purpose, address)
  }

  private func admits(_ address: UnsafeMutablePointer<curl_sockaddr>) -> Bool {
    if isSpoiled { return false }
    var bytes: (UInt64, UInt64) = (0, 0)
    var port: Int32 = 0
    let reason = withUnsafeMutableBytes(of: &bytes) { bytes -> EgressRules.Denial? in
      let count = clastro_read_address(address, bytes.baseAddress.unsafelyUnwrapped, &port)
      guard let address = IPAddress(bytes.prefix(Int(count))) else { return .unreadable }
      return rules.denial(of: address, port: Int(port))
    }
    if let reason { denial = reason } else { hasOpened = true }
    return reason == nil
  }

  /// Whether no address of the host may be used any more, because one was denied.
  private var isSpoiled: Bool { denial != nil && !rules.usesAllowedOfMixed }

  /// Returns the reason why nothing may be sent to the connected address.
  func refusal(connectedTo address: String?, port: Int, of target: TrustTarget) -> TransportError? {
    let reason = isSpoiled ? denial : rules.denial(of: address, port: port)
    return reason.map { .egressDenied($0, of: target) }
  }

  /// Returns the denial that made a dial fail; `nil` if the dial failed for another reason: at an allowed address, or
  /// after connecting.
  func failure(hasConnected: Bool, target: TrustTarget) -> TransportError? {
    guard let denial, !hasConnected, isSpoiled || !hasOpened else { return nil }
    return .egressDenied(denial, of: target)
  }
}

extension EgressRules {
  /// Returns the reason why an address must not be connected to; `nil` if it may.
  ///
  /// - Parameter text: an address without brackets, optionally with a zone.
  func denial(of text: String?, port: Int) -> Denial? {
    guard let text, let address = IPAddress(parsing: String(text.prefix { $0 != "%" })) else { return .unreadable }
    return denial(of: address, port: port)
  }

  /// Returns the reason why a proxy must not be asked for a host. The addresses of a name are not known here.
  func refusal(ofLiteral target: TrustTarget) -> TransportError? {
    guard target.host.isIPAddress else { return nil }
    return denial(of: target.host.text, port: target.port).map { .egressDenied($0, of: target) }
  }
}

/// Refusals by an egress policy. Their texts contain no addresses: the author of the URL must not learn the network's
/// layout.
extension TransportError {
  static let egressProxyDenied = egressDenied(
    "the egress policy refuses the proxy, which would choose the address",
    hint: "set ConnectionOptions.proxy to .none, or EgressPolicy.trustsProxies to true if it enforces a policy")

  static let egressUnixSocketDenied = egressDenied(
    "the egress policy refuses Unix sockets", hint: "leave unixSocketPath nil, or egress unrestricted")

  static func egressDenied(_ denial: EgressRules.Denial, of target: TrustTarget) -> TransportError {
    egressDenied("the egress policy denies an address of \(target.name): \(denial.reason)", hint: denial.hint)
  }

  private static func egressDenied(_ message: String, hint: String) -> TransportError {
    TransportError(stage: .policy, code: .egressDenied, message: message, hint: hint)
  }
}

extension EgressRules.Denial {
  fileprivate var hint: String {
    switch self {
    case .addressClass, .embedded, .port: "call EgressPolicy.allow for it, if it is meant to be reached"
    case .range: "pass a smaller range to EgressPolicy.deny or addNAT64Prefix, if it is meant to be reached"
    case .unreadable: "give a host that has an IPv4 or IPv6 address"
    }
  }
}
