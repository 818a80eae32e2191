// SPDX-License-Identifier: Apache-2.0

internal import Lastro

/// A proxy's response to CONNECT. libcurl reads it byte by byte, reports progress after each byte, and has no limit.
enum TunnelAnswer {
  static let maximumBytes = 64 * 1024
}

extension TransportError {
  static let endlessTunnelAnswer = TransportError(
    stage: .proxy, code: .proxyRefused,
    message: "the proxy's response to CONNECT has more than \(TunnelAnswer.maximumBytes) bytes",
    hint: "check that the proxy's URL leads to a proxy")
}
