// SPDX-License-Identifier: Apache-2.0

internal import Lastro
internal import LastroWire

/// What every exchange over a stream holds to.
struct ExchangeSettings: Sendable {
  var limits = ExchangeLimits()
  var decoding = DecodingLimits()
  /// Whether content codings are asked for and undone.
  var decompresses = false
  /// Sent where the request has none; `nil` sends none.
  var userAgent: String?
  /// Whether `Accept: */*` is sent where the request has none.
  var sendsAccept = false
  /// Bytes kept for the reader of a streamed body.
  var streamBufferBytes = 256 * 1024
  /// Longest time spent on the body of an answer outside 200–299, whose status is what matters. Default `nil`: what
  /// the request's own limits allow.
  var errorBodyTime: Duration?
  /// Whether HTTP/2 is offered at all.
  var offersHTTP2 = true
  /// Most requests at a time on one connection of HTTP/2.
  var http2Streams = 100
  /// Measures limits.
  var time = TimeSource.continuous
}

extension CommonFields {
  init(_ settings: ExchangeSettings) {
    self.init(userAgent: settings.userAgent, sendsAccept: settings.sendsAccept, decompresses: settings.decompresses)
  }
}
