// SPDX-License-Identifier: Apache-2.0

internal import Lastro

/// The wait of an extended CONNECT for the SETTINGS of a new connection, which decide whether it may be sent.
///
/// Nothing was sent. The exchange starts again when the SETTINGS have arrived. Owner: ``HTTP2Multiplexer``, and the
/// exchange. Thread: the loop's.
final class HTTP2SettingsWait: ExchangeRunner {
  let exchange: Exchange
  private let multiplexer: HTTP2Multiplexer

  init(_ exchange: Exchange, on multiplexer: HTTP2Multiplexer) {
    self.exchange = exchange
    self.multiplexer = multiplexer
  }

  var connection: HTTPConnection { multiplexer.connection }
  var committedBodyBytes: Int { 0 }
  var isAlone: Bool { multiplexer.isAlone }
  var handedOutAt: Int64 { .min }
  var redirectPatience: Duration? { nil }
  var nextLook: Int64 { .max }

  func look(now: Int64) -> Bool { false }
  func limitPassed(now: Int64) { multiplexer.doubt(isSilent: true) }
  func resumeReceiving() {}
  func resumeSending() {}
  func answeredAtHead() {}
  func leave(_ failure: TransportError?) { multiplexer.endWait(self) }
  func detach() {}
}
