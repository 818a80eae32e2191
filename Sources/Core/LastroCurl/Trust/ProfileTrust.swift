// SPDX-License-Identifier: Apache-2.0

internal import CLastro
internal import Lastro

/// The roots, rules and other terms of every TLS handshake of a ``StreamProfile``.
///
/// They are fixed for the life of the profile. If one of them changes, the profile is no longer current and is replaced
/// by another one, with connections of its own.
final class ProfileTrust {
  let terms: TLSTerms
  private let turn: TurnShare

  /// Creates the trust of a profile.
  ///
  /// - Parameters:
  ///   - predecessor: the trust that this one replaces.
  ///   - check: throws if libcurl or OpenSSL do not behave as judges require.
  init(
    _ options: TLSOptions, standing: (any ServerTrustJudge)?, turn: TurnShare,
    after predecessor: ProfileTrust? = nil, check: () throws(TransportError) -> Void = TrustSelfCheck.require
  ) throws(TransportError) {
    self.turn = turn
    let rules = JudgePanel(standing: standing, additional: options.trustJudge)
    if !rules.isEmpty { try check() }
    terms = TLSTerms(
      rules: rules, files: TLSFiles(options, after: predecessor?.files), isStrict: options.requiresStrictChain,
      showsRootsToCurl: options.requiresStapledStatus,
      // A resumed session shows no chain to judge, and no stapled status.
      allowsResumption: rules.isEmpty && !options.requiresStapledStatus, turn: UnsafePointer(turn.pointer))
  }

  var rules: JudgePanel { terms.rules }
  var files: TLSFiles { terms.files }
  var allowsResumption: Bool { terms.allowsResumption }

  /// Whether requests may still be sent on connections made under this trust.
  var isCurrent: Bool { terms.rules.isCurrent && !files.isOutdated }
}
