// SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials

/// The body of a request: the source of its bytes, its type, and whether it can be sent again.
///
/// ```swift
/// let issue = try RequestBody.json(NewIssue(title: "It works"))
/// let form = RequestBody.form(["state": "closed"])
/// let file = try RequestBody.file(path: "/etc/hostname", contentType: "text/plain")
/// ```
public struct RequestBody: Sendable {
  /// Returns the next chunk, or `nil` at the end. Called by one task at a time.
  public typealias NextChunk = () async throws -> Data?

  /// The source of the bytes.
  public enum Source: Sendable {
    /// No body.
    case empty
    /// Bytes in memory.
    case bytes(Data)
    /// A file, read in chunks while it is sent. The file must not change in the meantime.
    case file(path: String, length: Int64)
    /// Chunks from an asynchronous sequence.
    case stream(length: Int64?, isReplayable: Bool, open: @Sendable () -> NextChunk)
  }

  /// The source of the bytes.
  public let source: Source
  /// The type of the body. It is sent as `Content-Type` if the request has no such field.
  public let contentType: String?
  /// The secrets in the body, which are masked wherever the request is described. Default none.
  public let secrets: [Secret]
  /// Returns the fields to send after a stream of unknown length (RFC 9110 §6.5). It is called after the last chunk was
  /// produced. Name the fields in the request's `Trailer`. An error that it throws ends the fetch, and so does a field
  /// that is only allowed in a head. A body of known length with trailers is refused (`invalid_body`), and so are
  /// trailers sent by libcurl's own transfers (`unsupported`). Default: none.
  public let trailers: (@Sendable () async throws -> RawHeaders)?

  /// Makes a body.
  public init(
    source: Source, contentType: String? = nil, secrets: [Secret] = [],
    trailers: (@Sendable () async throws -> RawHeaders)? = nil
  ) {
    self.source = source
    self.contentType = contentType
    self.secrets = secrets
    self.trailers = trailers
  }

  /// An absent body.
  public static let empty = RequestBody(source: .empty)

  /// Whether the body can be sent again, after a redirect or for a retry.
  public var isReplayable: Bool {
    switch source {
    case .empty, .bytes, .file: true
    case .stream(_, let isReplayable, _): isReplayable
    }
  }

  /// Whether there is no body. A body of zero bytes is a body.
  public var isEmpty: Bool { if case .empty = source { true } else { false } }

  /// The number of bytes; `nil` for a stream of unknown length.
  public var length: Int64? {
    switch source {
    case .empty: 0
    case .bytes(let data): Int64(data.count)
    case .file(_, let length): length
    case .stream(let length, _, _): length
    }
  }
}
