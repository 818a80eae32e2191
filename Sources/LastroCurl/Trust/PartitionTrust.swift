// SPDX-License-Identifier: Apache-2.0

internal import CLastro
internal import Lastro

/// What makes the TLS connections of a partition trustworthy: roots, rules, and what else every handshake obeys.
///
/// All of it is fixed as long as the partition lives. When something has changed, the partition is no longer current,
/// and another takes its place, with connections of its own.
final class PartitionTrust {
  let terms: TLSTerms
  /// Outlives every connection.
  private let poller: Poller

  /// - Parameter check: throws where libcurl or OpenSSL differ from what judges rest on.
  init(
    _ options: TLSOptions, standing: (any ServerTrustJudge)?, poller: Poller,
    check: () throws(TransportError) -> Void = TrustSelfCheck.require
  ) throws(TransportError) {
    self.poller = poller
    let rules = JudgePanel(standing: standing, additional: options.trustJudge)
    if !rules.isEmpty { try check() }
    let keyLog = try options.keyLogFile.map { path throws(TransportError) in try KeyLogFile(path: path) }
    terms = TLSTerms(
      rules: rules, roots: TrustedRoots(options.roots, isShared: !options.requiresStapledStatus), keyLog: keyLog,
      isStrict: options.chainChecks == .strict, showsRootsToCurl: options.requiresStapledStatus,
      // A resumed session shows no chain to judge, and no stapled status.
      allowsResumption: rules.isEmpty && !options.requiresStapledStatus, turn: UnsafePointer(poller.turn))
  }

  var rules: JudgePanel { terms.rules }
  var allowsResumption: Bool { terms.allowsResumption }

  /// Whether requests may still be sent on connections made under it.
  func isCurrent(now: Int64) -> Bool { terms.rules.isCurrent && terms.roots.isCurrent(now: now) }

  /// Loads the roots, if they are not; typed failure instead of a handshake that cannot succeed.
  func prepare() throws(TransportError) { _ = try terms.roots.store() }
}
