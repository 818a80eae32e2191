// SPDX-License-Identifier: Apache-2.0

internal import Lastro

/// What TLS connections with equal options obey, whatever carries them.
struct TLSTerms {
  let rules: JudgePanel
  let roots: TrustedRoots
  let keyLog: KeyLogFile?
  let isStrict: Bool
  /// Whether libcurl is given the roots too, for its look at stapled status.
  var showsRootsToCurl = false
  /// Whether a session may be kept for resumption.
  var allowsResumption = false
  /// Where the number of the loop's turn stands, for connections that read a socket of the loop. It outlives them.
  var turns: UnsafePointer<UInt64>?
}
