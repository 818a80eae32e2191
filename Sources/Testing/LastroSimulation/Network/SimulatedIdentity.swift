// SPDX-License-Identifier: Apache-2.0

internal import Lastro

/// The identity that a server of a simulation shows in the handshake of TLS. Nothing is encrypted; the identity is what
/// a handshake decides about.
///
/// ```swift
/// let identity = SimulatedIdentity(keys: ["leaf", "root"])
/// world.server("https://api.example", identity: identity) { _ in .text("hello") }
/// let policy = try PinningPolicy("api.example", pins: [identity.pins[0], backup])
/// ```
public struct SimulatedIdentity: Sendable, Hashable {
  /// The keys of the chain, leaf first.
  private let keys: [SPKIHash]
  /// The pins of the chain's keys, leaf first, as a `PinningPolicy` takes them. They are digests of the keys' names.
  public var pins: [String] { keys.map(\.description) }
  /// Whether the chain leads to a root that the clients trust. Default true.
  public var isTrusted: Bool
  /// The hosts that the certificate is for. Default `nil`: the host that is asked for.
  public var hosts: Set<String>?
  /// The time since the start of the simulation from which the certificate is valid. Default `nil`: always.
  public var validFrom: Duration?
  /// The time since the start of the simulation until which the certificate is valid. Default `nil`: for ever.
  public var validUntil: Duration?

  /// Creates an identity.
  ///
  /// - Parameters:
  ///   - keys: the names of the chain's keys, leaf first. Equal names have equal pins, in every simulation.
  ///   - isTrusted: whether the chain leads to a root that the clients trust. Default true.
  public init(keys: [String] = ["leaf", "root"], isTrusted: Bool = true) {
    self.keys = keys.compactMap { try? SPKIHash(MessageDigest(of: Array($0.utf8)).bytes) }
    self.isTrusted = isTrusted
  }

  /// The chain as a judge sees it. Its certificates have pins and nothing else.
  var chain: [PeerCertificate] { keys.map { PeerCertificate(der: [], pin: $0) } }

  /// Throws the error of a handshake with this identity.
  ///
  /// - Parameters:
  ///   - host: the host that is asked for.
  ///   - date: the date of the client, since 1970.
  func check(_ host: HostName, at date: Duration) throws(TransportError) {
    let age = date - .nanoseconds(Scheduler.epoch)
    guard isTrusted else {
      throw refusal(.untrustedCertificate, "the certificate of \(host) leads to no trusted root")
    }
    guard hosts?.contains(host.text) ?? true else {
      throw refusal(.hostMismatch, "the certificate is not for \(host)")
    }
    guard validFrom.map({ $0 <= age }) ?? true, validUntil.map({ age <= $0 }) ?? true else {
      throw refusal(.certificateExpired, "the certificate of \(host) is not valid at the date of this machine")
    }
  }

  private func refusal(_ code: FailureCode, _ message: String) -> TransportError {
    TransportError(stage: .tls, code: code, message: message, hint: "give the server another identity")
  }
}
