// SPDX-License-Identifier: Apache-2.0

internal import CLastro
internal import Lastro

/// The terms that TLS connections with equal options obey, for connections of libcurl and over streams.
struct TLSTerms {
  let rules: JudgePanel
  let files: TLSFiles
  let isStrict: Bool
  /// Whether libcurl gets the roots too, for its check of stapled status.
  var showsRootsToCurl = false
  /// Whether a session may be kept for resumption.
  var allowsResumption = false
  /// The loop's turn, for connections that read a socket of the loop. It outlives them.
  var turn: UnsafePointer<clastro_turn>?
}
