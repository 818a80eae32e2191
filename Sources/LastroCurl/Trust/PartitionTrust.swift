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
  /// Whether files are read where they are needed, on the loop's thread.
  private let readsItself: Bool

  /// - Parameters:
  ///   - predecessor: the trust that this one replaces.
  ///   - check: throws where libcurl or OpenSSL differ from what judges rest on.
  init(
    _ options: TLSOptions, standing: (any ServerTrustJudge)?, poller: Poller, readsItself: Bool = false,
    after predecessor: PartitionTrust? = nil, check: () throws(TransportError) -> Void = TrustSelfCheck.require
  ) throws(TransportError) {
    self.poller = poller
    self.readsItself = readsItself
    let rules = JudgePanel(standing: standing, additional: options.trustJudge)
    if !rules.isEmpty { try check() }
    terms = TLSTerms(
      rules: rules, files: TLSFiles(options, after: predecessor?.files), isStrict: options.chainChecks == .strict,
      showsRootsToCurl: options.requiresStapledStatus,
      // A resumed session shows no chain to judge, and no stapled status.
      allowsResumption: rules.isEmpty && !options.requiresStapledStatus, turn: UnsafePointer(poller.turn))
  }

  var rules: JudgePanel { terms.rules }
  var files: TLSFiles { terms.files }
  var allowsResumption: Bool { terms.allowsResumption }

  /// Whether requests may still be sent on connections made under it.
  func isCurrent(now: Int64) -> Bool {
    guard terms.rules.isCurrent else { return false }
    if readsItself, now >= files.nextLook { files.compare(with: TLSFileReader.read(files.look), now: now) }
    return !files.isOutdated
  }

  /// Reads the files that a connection needs. The call may block.
  ///
  /// - Parameter identity: the one that the connection presents.
  func prepare(for identity: TLSOptions.Identity?) throws(TransportError) {
    guard let request = files.missing(for: identity) else { return }
    try files.take(TLSFileReader.read(request), now: monotonicNow())
  }
}
