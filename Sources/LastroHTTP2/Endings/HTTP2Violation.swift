// SPDX-License-Identifier: Apache-2.0

/// A rule of HTTP/2 that a server breaks, or a limit that it exceeds.
package struct HTTP2Violation: Error, Equatable, Sendable {
  package enum Kind: Equatable, Sendable, CaseIterable {
    // The stream is reset:

    /// A field's name or value, or the order of pseudo-fields.
    case field
    case headTooLarge
    case tooManyFields
    case tooManyInterimResponses
    /// The body is longer or shorter than its Content-Length, or there may be none.
    case contentLength
    /// A body or its end comes before the final head.
    case order
    /// More came than the stream's window allows.
    case flowControl
    /// The request's body is longer or shorter than was said.
    case requestBody
    /// nghttp2 does not send the request's head, or its trailers.
    case requestFields
    /// More DATA frames without bytes than the stream's budget covers.
    case emptyData

    // The connection is ended:

    case settings
    case pings
    case priorities
    case windowUpdates
    /// Bytes of frames that change nothing: of unknown types, or of streams that are over.
    case idleBytes
    /// Bytes beyond windows that were made smaller.
    case unreadBytes
    case push
    case continuations
    /// A field has more than nghttp2 takes.
    case fieldTooLarge
    /// What nghttp2 takes for an error of the connection.
    case connection
    /// No memory.
    case memory
  }

  package var kind: Kind
  package var message: String

  package init(_ kind: Kind, _ message: String) {
    self.kind = kind
    self.message = message
  }

  /// What the server is told.
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
