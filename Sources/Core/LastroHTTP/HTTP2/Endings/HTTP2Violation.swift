// SPDX-License-Identifier: Apache-2.0

/// A rule of HTTP/2 that a server broke, or a limit that it exceeded.
package struct HTTP2Violation: Error, Equatable, Sendable {
  package enum Kind: Equatable, Sendable, CaseIterable {
    // The stream is reset:

    /// A field has an invalid name or value, or pseudo-header fields are out of order.
    case field
    case headTooLarge
    case tooManyFields
    case tooManyInterimResponses
    /// The body does not match its Content-Length, or the response must not have a body.
    case contentLength
    /// Body data or the end of the body arrived before the final head.
    case order
    /// The server exceeded the stream's window.
    case flowControl
    /// The request's body is longer or shorter than declared.
    case requestBody
    /// nghttp2 refuses to send the request's head or its trailers.
    case requestFields
    /// The server sent more empty DATA frames than the stream's budget allows.
    case emptyData

    // The connection is ended:

    /// Too many SETTINGS, PING, PRIORITY or WINDOW_UPDATE frames, of the kind that the message names.
    case controlFrames
    /// Too many bytes of frames that we ignore: GOAWAY, unknown types, or closed streams.
    case idleBytes
    /// The server exceeded windows that had been reduced.
    case unreadBytes
    case push
    case continuations
    /// A field is larger than nghttp2 accepts.
    case fieldTooLarge
    /// nghttp2 reports a connection error.
    case connection
    /// Memory could not be allocated.
    case memory
  }

  package var kind: Kind
  package var message: String

  package init(_ kind: Kind, _ message: String) {
    self.kind = kind
    self.message = message
  }

  /// The error code that is sent to the server.
  package var code: HTTP2ErrorCode {
    switch kind {
    case .field, .contentLength, .order, .push, .connection: .protocolError
    case .flowControl, .unreadBytes: .flowControlError
    case .fieldTooLarge: .compressionError
    case .requestBody, .requestFields: .cancel
    case .memory: .internalError
    default: .enhanceYourCalm
    }
  }
}
