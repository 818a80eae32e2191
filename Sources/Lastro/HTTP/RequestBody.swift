// SPDX-License-Identifier: Apache-2.0

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// The body of a request: where its bytes come from, and whether they can be had again.
///
/// ```swift
/// let issue = try RequestBody.json(NewIssue(title: "It works"))
/// let form = RequestBody.form(["state": "closed"])
/// let file = try RequestBody.file(path: "/etc/hostname", contentType: "text/plain")
/// ```
public struct RequestBody: Sendable {
  /// Gives the next chunk, or `nil` at the end. Called by one task at a time.
  public typealias NextChunk = () async throws -> Data?

  /// Where the bytes come from.
  public enum Source: Sendable {
    /// No body.
    case empty
    /// Bytes in memory.
    case bytes(Data)
    /// A file, read in chunks while it is sent. It must not change meanwhile.
    case file(path: String, length: Int64)
    /// Chunks from an asynchronous sequence.
    case stream(length: Int64?, isReplayable: Bool, open: @Sendable () -> NextChunk)
  }

  /// Where the bytes come from.
  public let source: Source
  /// Set as `Content-Type` where the request has none.
  public let contentType: String?
  /// The secrets in it, which are then masked in all that tells of the request. Default none.
  public let secrets: [Secret]
  /// Fields to send behind a stream whose length is not known (RFC 9110 §6.5): asked for once its last chunk was
  /// given. Name them in the request's `Trailer`. An error ends the fetch, and so does a field that means something in
  /// a head only. A body of known length with trailers is refused (`invalid_body`), and so are trailers over libcurl's
  /// transfers (`unsupported`). Default: none.
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

  /// A request without a body.
  public static let empty = RequestBody(source: .empty)

  /// Whether it can be sent again, after a redirect or for a retry.
  public var isReplayable: Bool {
    switch source {
    case .empty, .bytes, .file: true
    case .stream(_, let isReplayable, _): isReplayable
    }
  }

  /// Whether there is a body at all. A body of zero bytes is one.
  public var isEmpty: Bool { if case .empty = source { true } else { false } }

  /// Number of bytes; `nil` for a stream that does not know.
  public var length: Int64? {
    switch source {
    case .empty: 0
    case .bytes(let data): Int64(data.count)
    case .file(_, let length): length
    case .stream(let length, _, _): length
    }
  }
}
