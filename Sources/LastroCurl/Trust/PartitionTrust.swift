// SPDX-License-Identifier: Apache-2.0

internal import CLastro
internal import Lastro

/// What makes the TLS connections of a partition trustworthy: roots, rules, and what else every handshake obeys.
///
/// All of it is fixed as long as the partition lives. When something has changed, the partition is no longer current, and
/// another takes its place, with connections of its own.
final class PartitionTrust {
  let rules: JudgePanel
  private let roots: TrustedRoots
  private let keyLog: KeyLogFile?
  private let isStrict: Bool
  private let showsRootsToCurl: Bool
  let allowsResumption: Bool
  /// Outlives every connection.
  private let poller: Poller

  init(_ options: TLSOptions, standing: (any ServerTrustJudge)?, poller: Poller) throws(TransportError) {
    self.poller = poller
    rules = JudgePanel(standing: standing, additional: options.trustJudge)
    showsRootsToCurl = options.requiresStapledStatus
    roots = TrustedRoots(options.roots, isShared: !showsRootsToCurl)
    keyLog = try options.keyLogFile.map { path throws(TransportError) in try KeyLogFile(path: path) }
    isStrict = options.chainChecks == .strict
    // A resumed session shows no chain to judge, and no stapled status.
    allowsResumption = rules.isEmpty && !options.requiresStapledStatus
  }

  /// Whether requests may still be sent on connections made under it.
  func isCurrent(now: Int64) -> Bool { rules.isCurrent && roots.isCurrent(now: now) }

  /// Loads the roots, if they are not; typed failure instead of a handshake that cannot succeed.
  func prepare() throws(TransportError) { _ = try roots.store() }

  /// A new connection to a target, made to obey. `nil` when it cannot be.
  ///
  /// - Parameters:
  ///   - readsSocket: whether it is not inside of another TLS connection.
  ///   - onlyJudge: decides alone, where chain and host name do not count.
  func attach(
    _ context: UnsafeMutableRawPointer, to target: TrustTarget, role: ServerTrust.Role, recordsChain: Bool,
    readsSocket: Bool, onlyJudge: (any ServerTrustJudge)? = nil
  ) -> TLSPeer? {
    guard let store = try? roots.store() else { return nil }
    let peer = TLSPeer(target: target, role: role, rules: rules, keyLog: keyLog, onlyJudge: onlyJudge)
    let isAttached = peer.attach(to: context, roots: store, recordsChain: recordsChain) { rules in
      rules.shows_roots_to_curl = showsRootsToCurl
      rules.is_strict = isStrict
      rules.allows_resumption = allowsResumption && !recordsChain
      rules.turns = readsSocket ? UnsafePointer(poller.turns) : nil
    }
    return isAttached ? peer : nil
  }
}
