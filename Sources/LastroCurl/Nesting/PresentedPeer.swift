// SPDX-License-Identifier: Apache-2.0

internal import CLastro
internal import Lastro

/// The other end of a TLS connection that a judge alone decides on, by what it presented.
///
/// Owner: the session. Thread: the session's.
final class PresentedPeer {
  private let target: TrustTarget
  private let role: ServerTrust.Role
  private let judge: JudgePanel
  /// Those that would have been asked anyway: they see the leaf, for nothing else is proven to belong to it.
  private let others: JudgePanel
  private let keyLog: KeyLogFile?
  private(set) var verdict: TrustVerdict?
  private(set) var failure: TrustFailure?

  init(_ plan: TLSPlan, judge: JudgePanel, others: JudgePanel) {
    target = plan.target
    role = plan.role
    self.judge = judge
    self.others = others
    keyLog = plan.keyLog
  }

  /// Has a new connection ask this object, which must outlive it.
  func attach(to context: UnsafeMutableRawPointer) -> Bool {
    clastro_nested_context_judge_presented(
      context, Unmanaged.passUnretained(self).toOpaque(), Self.accept, keyLog == nil ? nil : Self.logKey)
  }

  private func accept(_ chain: [PeerCertificate]) -> Bool {
    let leaf = ServerTrust(host: target.host, port: target.port, role: role, chain: Array(chain.prefix(1)))
    var whole = leaf
    whole.chain = chain
    for (panel, trust) in [(others, leaf), (judge, whole)] {
      switch panel.judge(trust) {
      case .accepted(let word): verdict = word
      case .refused(let failure):
        verdict = nil
        self.failure = failure
        return false
      }
    }
    if !judge.isCurrent || !others.isCurrent { verdict = nil }
    return true
  }

  private static let accept:
    @convention(c) (
      UnsafeMutableRawPointer, UnsafePointer<UnsafePointer<UInt8>>, UnsafePointer<Int>, Int
    ) -> Bool = { owner, certificates, lengths, count in
      let peer = Unmanaged<PresentedPeer>.fromOpaque(owner).takeUnretainedValue()
      let chain = (0..<count).compactMap { index in
        PeerCertificate(der: [UInt8](UnsafeBufferPointer(start: certificates[index], count: lengths[index])))
      }
      guard chain.count == count else {
        peer.failure = .unproven(peer.target)
        return false
      }
      return peer.accept(chain)
    }

  private static let logKey: @convention(c) (UnsafeMutableRawPointer, UnsafePointer<CChar>) -> Void = { owner, line in
    Unmanaged<PresentedPeer>.fromOpaque(owner).takeUnretainedValue().keyLog?.append(line)
  }
}
