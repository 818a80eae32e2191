// SPDX-License-Identifier: Apache-2.0

internal import Lastro

/// A proxy's answer to CONNECT: libcurl reads it byte by byte for as long as there is more of it, tells its progress
/// after each, and has no limit.
enum TunnelAnswer {
  static let maximumBytes = 64 * 1024
}

extension Transfer {
  /// libcurl tells its progress, after each byte of a proxy's answer to CONNECT. False ends the transfer.
  func noteTunnelStep() -> Bool {
    tunnelSteps += 1
    guard !requestSent, tunnelSteps > TunnelAnswer.maximumBytes else { return true }
    failure = .endlessTunnelAnswer
    return false
  }

  /// Its connection was ended because it held the loop.
  func noteFlood() { failure = .flood }
}

extension TransportError {
  static let endlessTunnelAnswer = TransportError(
    stage: .proxy, code: .proxyRefused,
    message: "the proxy's response to CONNECT has more than \(TunnelAnswer.maximumBytes) bytes",
    hint: "check that the proxy's URL leads to a proxy")

  static let flood = TransportError(
    stage: .response, code: .http2Failure,
    message: "the server sent frames of HTTP/2 without end, and none of them belonged to the response",
    hint: "report it to the server's owner, or set httpVersion to .http1",
    requestSent: true)
}
