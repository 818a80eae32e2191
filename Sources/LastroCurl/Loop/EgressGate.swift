// SPDX-License-Identifier: Apache-2.0

internal import CLastro
internal import Lastro
internal import LastroWire

/// Stands before every socket that libcurl makes for a handle: to an address that the rules deny none is made.
///
/// Owner: the transfer, or the stream, while it is dialed. Thread: the loop's.
final class EgressGate {
  /// Why an address was denied, if one was.
  private(set) var denial: EgressRules.Denial?
  private let rules: EgressRules
  private let poller: Poller
  private let open: clastro_open_callback

  /// - Parameter open: makes the socket for an address that is allowed.
  init(_ rules: EgressRules, poller: Poller, open: @escaping clastro_open_callback) {
    self.rules = rules
    self.poller = poller
    self.open = open
  }

  static let openSocket: clastro_open_callback = { gate, purpose, address in
    guard let gate, let address else { return CURL_SOCKET_BAD }
    let owner = Unmanaged<EgressGate>.fromOpaque(gate).takeUnretainedValue()
    guard owner.admits(address) else { return CURL_SOCKET_BAD }
    return owner.open(Unmanaged.passUnretained(owner.poller).toOpaque(), purpose, address)
  }

  private func admits(_ address: UnsafeMutablePointer<curl_sockaddr>) -> Bool {
    if denial != nil, !rules.usesAllowedOfMixed { return false }
    var bytes: (UInt64, UInt64) = (0, 0)
    var port: Int32 = 0
    let reason = withUnsafeMutableBytes(of: &bytes) { bytes -> EgressRules.Denial? in
      let count = clastro_read_address(address, bytes.baseAddress.unsafelyUnwrapped, &port)
      // Of a family without ports nothing is known.
      guard let address = IPAddress(bytes.prefix(Int(count))) else { return .range }
      return rules.denial(of: address, port: Int(port))
    }
    denial = reason ?? denial
    return reason == nil
  }
}

extension EgressRules {
  /// - Parameter text: an address, without brackets. What is none is denied.
  func denial(of text: String, port: Int) -> Denial? {
    guard let address = BypassList.address(text).flatMap({ IPAddress($0) }) else { return .range }
    return denial(of: address, port: port)
  }
}

extension TransportError {
  /// What an egress policy stands against.
  enum EgressRefusal {
    case address(EgressRules.Denial, TrustTarget)
    case proxy(String)
    case unixSocket
  }

  /// Without the address: whose URL it is must not learn what stands in the network.
  static func egressDenied(_ refusal: EgressRefusal) -> TransportError {
    let (message, hint) =
      switch refusal {
      case .address(let denial, let target):
        (
          "the egress policy denies an address of \(target.name): \(denial.reason)",
          "have EgressPolicy.allowing name it, if it is meant to be reached"
        )
      case .proxy(let name):
        (
          "the egress policy refuses the proxy \(name), which would choose the address",
          "set ConnectionOptions.proxy to .none, or EgressPolicy.proxies to .trust where it enforces a policy"
        )
      case .unixSocket: ("the egress policy refuses Unix sockets", "leave unixSocketPath nil, or egress unrestricted")
      }
    return TransportError(stage: .policy, code: .egressDenied, message: message, hint: hint)
  }
}
