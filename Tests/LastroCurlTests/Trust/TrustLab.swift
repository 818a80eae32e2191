// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Lastro
import LastroCurl
import LastroSupport
import LastroTesting
import Testing

/// An authority that clients trust, servers it certifies, and evaluators over pins of their keys.
struct TrustLab {
  let authority: CertificateAuthority

  init() throws { authority = try CertificateAuthority() }

  /// The pin of a key that nobody has.
  static let absent = "sha256/" + String(repeating: "A", count: 43) + "="
  static let spare = "sha256/" + String(repeating: "B", count: 43) + "="

  func identity(_ hosts: String...) throws -> MintedCertificate { try authority.issue(hosts: hosts) }

  static func pin(_ certificate: MintedCertificate) throws -> String {
    try #require(SPKIHash(pem: certificate.certificatePEM)).description
  }

  static func policy(
    _ host: String, _ pins: String..., mode: PinningPolicy.Mode = .enforce, subdomains: Bool = false
  ) throws -> PinningPolicy {
    try PinningPolicy(
      domainName: host, includeSubdomains: subdomains, pinnedHashes: Set(pins + [spare]), mode: mode)
  }

  static func configuration(
    _ policies: PinningPolicy..., allowsOthers: Bool = true
  ) throws -> ServerTrustEvaluator.Configuration {
    try .init(pinningPolicies: policies, allowNotPinnedDomains: allowsOthers)
  }

  static func evaluator(_ policies: PinningPolicy..., allowsOthers: Bool = true) throws -> ServerTrustEvaluator {
    ServerTrustEvaluator(
      configuration: try .init(pinningPolicies: policies, allowNotPinnedDomains: allowsOthers))
  }

  /// A stack that trusts the authority, and whose servers a judge decides on.
  func stack(
    _ judge: (any ServerTrustJudge)?, names: [String: Int] = [:], _ edit: (inout CurlConfiguration) -> Void = { _ in }
  ) throws -> CurlNetworkStack {
    try .direct {
      $0.connection.tls.roots = .pem(Array(authority.rootPEM.utf8))
      $0.connection.tls.trustJudge = judge
      $0.connection.resolutions = names.map { .init(host: $0.key, port: $0.value, addresses: ["127.0.0.1"]) }
      edit(&$0)
    }
  }
}

extension LoopbackServer {
  /// The URL of the server by another name.
  func url(_ host: String, _ path: String = "/") -> String { "https://\(host):\(port)\(path)" }
}

/// A judge by rules of a test's own.
final class ScriptedJudge: ServerTrustJudge {
  private struct State {
    var revision: UInt64 = 0
    var asked: [ServerTrust] = []
  }

  private let state = Lock(State())
  private let decide: @Sendable (ServerTrust, ScriptedJudge) -> TrustDecision

  init(_ decide: @escaping @Sendable (ServerTrust, ScriptedJudge) -> TrustDecision) { self.decide = decide }

  var revision: UInt64 { state.withLock { $0.revision } }
  var asked: [ServerTrust] { state.withLock { $0.asked } }

  func changeRules() { state.withLock { $0.revision += 1 } }

  func judge(_ trust: ServerTrust) -> TrustDecision {
    state.withLock { $0.asked.append(trust) }
    return decide(trust, self)
  }
}
