// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import Lastro
internal import LastroSupport

/// A judge of one connection by the known key of its host. It only computes, because the engine's thread calls it.
final class FirstUseJudge: ServerTrustJudge {
  /// The result of a judgement.
  enum Finding: Sendable {
    case accepted(GeminiKnownHost, TrustVerdict)
    case changed(GeminiCertificateChange)
    case refused(FailureCode, String, hint: String?)
  }

  private let host: GeminiHost
  private let known: GeminiKnownHost?
  private let accepting: SPKIHash?
  private let rules: GeminiFirstUseRules
  private let now: @Sendable () -> Duration
  private let found = Lock<Finding?>(nil)

  /// - Parameters:
  ///   - known: the known key of the host; `nil` on first use.
  ///   - accepting: a new key that was decided on; besides the known key, only this one is accepted.
  init(
    host: GeminiHost, known: GeminiKnownHost?, accepting: SPKIHash?, rules: GeminiFirstUseRules, time: TimeSource
  ) {
    self.host = host
    self.known = known
    self.accepting = accepting
    self.rules = rules
    now = time.sinceEpoch
  }

  /// The latest finding; `nil` before the first handshake.
  var finding: Finding? { found.withLock { $0 } }

  func judge(_ trust: ServerTrust) throws(TrustFailure) -> TrustVerdict {
    let finding = find(trust)
    found.withLock { $0 = finding }
    switch finding {
    case .accepted(_, let verdict): return verdict
    case .changed(let change): throw TrustFailure(.refused(change.message), trust: trust)
    case .refused(_, let message, _): throw TrustFailure(.refused(message), trust: trust)
    }
  }

  func explanation(for host: HostName) -> String { "trusted on first use, then by its key" }

  private func find(_ trust: ServerTrust) -> Finding {
    guard trust.role == .server, trust.host == host.host, trust.port == host.port else {
      return .refused(
        .trustRefused, "\(trust.host):\(trust.port) was to be verified as \(host)",
        hint: "the dialer must ask about the host that is dialed")
    }
    guard let leaf = trust.chain.first, let facts = leaf.facts else {
      return .refused(.trustRefused, "\(host) presents no readable certificate", hint: "report it to its owner")
    }
    if let problem = problem(of: leaf, facts) { return problem }
    let presented = GeminiKnownHost(pin: leaf.pin, expires: facts.notAfter)
    guard let known else { return .accepted(presented, .firstUse) }
    if known.pin == leaf.pin { return .accepted(presented, .knownHost) }
    let isExpired = rules.acceptsNewKeyAfterExpiry && known.expires < date
    // A decision about a changed key applies to that key only: the server may present yet another one by now.
    if accepting.map({ $0 == leaf.pin }) ?? isExpired { return .accepted(presented, .changedHost) }
    return .changed(GeminiCertificateChange(host: host, known: known, presented: presented))
  }

  private func problem(of leaf: PeerCertificate, _ facts: PeerCertificate.Facts) -> Finding? {
    if rules.checksDates, date < facts.notBefore || date > facts.notAfter {
      return .refused(
        .certificateExpired, "the certificate of \(host) is expired or not yet valid: it is valid \(facts.dates)",
        hint: "check this machine's clock; else the server's owner has to renew it")
    }
    if rules.checksHostName, !leaf.isFor(host.host) {
      return .refused(
        .hostMismatch,
        "the certificate that \(host) presents is for other names: \(leaf.namesInShort ?? facts.shortSubject)",
        hint: "its owner has to name the host in it; GeminiTrust.firstUse(checksHostName: false) does not check it")
    }
    return nil
  }

  private var date: Date { Date(timeIntervalSince1970: now().inSeconds) }
}
