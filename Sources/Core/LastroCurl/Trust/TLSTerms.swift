// SPDX-License-Identifier: Apache-2.0

internal import Lastro

/// The terms that TLS connections with equal options obey, for connections of libcurl and over streams.
///
/// They are fixed for the life of their owner. If those of a ``StreamProfile`` are no longer current, the profile is
/// replaced by another one, with connections of its own.
struct TLSTerms {
  let rules: JudgePanel
  let files: TLSFiles
  let isStrict: Bool
  /// Whether the certificate of a server must be for its host name; if not, it must prove a SPIFFE ID.
  var checksHostName = true
  /// Whether libcurl gets the roots too, for its check of stapled status.
  var showsRootsToCurl = false
  /// Whether a session may be kept for resumption.
  var allowsResumption = false
  /// The loop's turn, for connections that read a socket of the loop.
  var turn: TurnShare?

  /// Whether requests may still be sent on connections made under these terms.
  var isCurrent: Bool { rules.isCurrent && !files.isOutdated }
}

extension TLSTerms {
  /// Creates the terms of connections with the options.
  ///
  /// - Parameters:
  ///   - turn: the loop's turn, for connections that libcurl makes.
  ///   - predecessor: the files of the terms that these replace.
  ///   - check: throws if libcurl or OpenSSL do not behave as judges require.
  init(
    _ options: TLSOptions, standing: (any ServerTrustJudge)?, turn: TurnShare? = nil,
    after predecessor: TLSFiles? = nil, check: () throws(TransportError) -> Void = TrustSelfCheck.require
  ) throws(TransportError) {
    let rules = JudgePanel(standing: standing, options)
    if !rules.isEmpty { try check() }
    self.init(
      rules: rules, files: TLSFiles(options, after: predecessor), isStrict: options.requiresStrictChain,
      checksHostName: options.peer == .hostName, showsRootsToCurl: options.requiresStapledStatus,
      // A resumed session shows no chain to judge, and no stapled status.
      allowsResumption: rules.isEmpty && !options.requiresStapledStatus, turn: turn)
  }
}
