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
    /// A whole file, read in chunks while it is sent. The file must not change in the meantime. A slice of a file is a
    /// replayable stream.
    case file(path: String, length: Int64)
    /// Chunks from an asynchronous sequence.
    case stream(length: Int64?, isReplayable: Bool, open: @Sendable () -> NextChunk)
  }

  /// The source of the bytes.
  public let source: Source
  /// The type of the body. It is sent as `Content-Type` if the request has no such field.
  public private(set) var contentType: String?
  /// The secrets in the body, which are masked wherever the request is described. Default none.
  public let secrets: [Secret]
  /// Returns the fields to send after a stream of unknown length (RFC 9110 §6.5). It is called after the last chunk was
  /// produced. Name the fields in the request's `Trailer`. An error that it throws ends the fetch, and so does a field
  /// that is only allowed in a head. A body of known length with trailers is refused (`invalid_body`). Default: none.
  public let trailers: (@Sendable () async throws -> RawHeaders)?
  /// Encodes the value of the body again; `nil` if its encoder was known when it was made.
  private var reencode: (@Sendable (JSONEncoder) throws -> RequestBody)?

  /// Makes a body.
  package init(
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

extension RequestBody {
  /// Returns a body that is `value` as JSON, of type `application/json`.
  ///
  /// Every ``Secret`` in the value is encoded unmasked, and is added to ``secrets``.
  ///
  /// - Parameters:
  ///   - value: the value to encode.
  ///   - encoder: the encoder; its settings must not change any more. Default: the stack's encoder, where the request
  ///     is made from an endpoint or by a URL; else an encoder with default settings.
  /// - Throws: the errors of `encoder`, unchanged.
  public static func json(_ value: some Encodable & Sendable, encoder: JSONEncoder? = nil) throws -> RequestBody {
    if let encoder = encoder ?? JSONCoders.current?.encoder { return try encoded(value, by: encoder) }
    var body = try encoded(value, by: JSONEncoder())
    body.reencode = { try encoded(value, by: $0) }
    return body
  }

  /// Does the same as ``json(_:encoder:)`` while a call makes its request. The stack's encoder is then known, so that
  /// nothing is kept to encode the value again.
  static func jsonInCall(_ value: some Encodable & Sendable, encoder: JSONEncoder?) throws -> RequestBody {
    try encoded(value, by: encoder ?? JSONCoders.current?.encoder ?? JSONEncoder())
  }

  private static func encoded(_ value: some Encodable, by encoder: JSONEncoder) throws -> RequestBody {
    let collector = SecretCollector()
    let data = try SecretCollector.$current.withValue(collector) { try encoder.encode(value) }
    return RequestBody(source: .bytes(data), contentType: "application/json", secrets: collector.secrets)
  }

  /// Returns the body with another type.
  package func ofType(_ type: String) -> RequestBody {
    var body = self
    body.contentType = type
    if let reencode { body.reencode = { try reencode($0).ofType(type) } }
    return body
  }

  /// Returns the body as the encoder of the current call's stack writes it, if the body was made outside the call and
  /// without an encoder of its own.
  func encodedForStack() throws -> RequestBody {
    guard let reencode, let encoder = JSONCoders.current?.encoder else { return self }
    return try reencode(encoder)
  }

  /// Returns a body of names and values in order, of type `application/x-www-form-urlencoded`. It follows the
  /// serializer of the WHATWG URL standard: UTF-8, a space is `+`, `A–Z a–z 0–9 * - . _` stay unchanged, anything else
  /// is percent-encoded.
  public static func form(_ fields: [(String, String)]) -> RequestBody { form(fields, secrets: []) }

  private static func form(_ fields: [(String, String)], secrets: [Secret]) -> RequestBody {
    let text = fields.map { $0.formEncoded + "=" + $1.formEncoded }.joined(separator: "&")
    return RequestBody(
      source: .bytes(Data(text.utf8)), contentType: "application/x-www-form-urlencoded", secrets: secrets)
  }

  /// Returns a form body from a literal: `.form(["grant_type": "refresh_token", "scope": "a b"])`. Order and repeated
  /// names are kept.
  ///
  /// - Parameters:
  ///   - fields: names and values.
  ///   - secrets: fields with secret values, which follow the others and are added to ``secrets``:
  ///     `.form(["grant_type": "password", "username": "ann"], secrets: ["password": password])`. Default none.
  public static func form(
    _ fields: KeyValuePairs<String, String>, secrets: KeyValuePairs<String, Secret> = [:]
  ) -> RequestBody {
    form(fields.map { ($0.key, $0.value) } + secrets.map { ($0.key, $0.value.reveal()) }, secrets: secrets.map(\.value))
  }

  /// Returns a body of the given bytes. Default `contentType`: `nil`; no `Content-Type` is sent.
  public static func raw(_ data: Data, contentType: String? = nil) -> RequestBody {
    RequestBody(source: .bytes(data), contentType: contentType)
  }

  /// Returns a body of the given bytes. Default `contentType`: `nil`; no `Content-Type` is sent.
  package static func raw(_ bytes: [UInt8], contentType: String? = nil) -> RequestBody {
    raw(Data(bytes), contentType: contentType)
  }

  /// Returns a body of text in UTF-8, by default of type `text/plain; charset=utf-8`.
  public static func raw(_ text: String, contentType: String = "text/plain; charset=utf-8") -> RequestBody {
    raw(Data(text.utf8), contentType: contentType)
  }

  /// Returns a body that is a file, or a slice of one, which is read only while it is sent. The file must not change
  /// until the fetch has ended; a retry or redirect reads it again.
  ///
  /// ```swift
  /// let part = try RequestBody.file(path: "/srv/backup.tar", offset: 16 << 20, length: 16 << 20)
  /// ```
  ///
  /// A slice is read with `pread`, in blocks of at most 128 KiB. Bytes that are added behind it are not sent. The fetch
  /// fails with `request/invalid_body` if the file no longer reaches the slice's end or, for a whole file, if its
  /// length has changed.
  ///
  /// - Parameters:
  ///   - path: the path of a regular file.
  ///   - offset: the first byte to send, from 0. Default 0.
  ///   - length: the number of bytes to send, which may be 0. Default `nil`: all bytes up to the file's present end.
  ///   - contentType: the type of the body. Default `nil`: no `Content-Type` is sent.
  /// - Throws: stage `request`, code `invalid_body`, if the file does not exist, is not a regular file or cannot be
  ///   read, if `offset` or `length` is negative, or if the slice goes beyond the end of the file.
  public static func file(
    path: String, offset: Int64 = 0, length: Int64? = nil, contentType: String? = nil
  ) throws(TransportError) -> RequestBody {
    let noun = "the body's file"
    if offset == 0, length == nil {
      let size = try FileSlice.size(of: path, noun)
      return RequestBody(source: .file(path: path, length: size), contentType: contentType)
    }
    let slice = try FileSlice(of: path, offset: offset, length: length, noun: noun)
    return RequestBody(source: slice.source, contentType: contentType)
  }

  /// Returns a body of chunks from an asynchronous sequence, which is iterated as fast as the connection accepts the
  /// chunks. An error that the sequence throws ends the fetch.
  ///
  /// - Parameters:
  ///   - sequence: the chunks; iterated once each time the body is sent. The task that iterates is cancelled with the
  ///     fetch, or when the server wants no more of the body.
  ///   - length: the total number of bytes, sent as `Content-Length`. If the sequence produces another number, the
  ///     fetch fails with `request/invalid_body`. Default `nil`: the length is unknown, and HTTP/1.1 sends the body
  ///     chunked.
  ///   - isReplayable: whether the sequence produces the same chunks when it is iterated again. Default false: a retry
  ///     or a redirect that needs the body fails.
  ///   - contentType: the type of the body. Default `nil`: no `Content-Type` is sent.
  ///   - trailers: fields to send after the last chunk; see ``trailers`` for their rules. Default: none.
  public static func stream<Chunks: AsyncSequence & Sendable>(
    _ sequence: Chunks, length: Int64? = nil, isReplayable: Bool = false, contentType: String? = nil,
    trailers: (@Sendable () async throws -> RawHeaders)? = nil
  ) -> RequestBody where Chunks.Element == Data {
    let open: @Sendable () -> NextChunk = {
      var iterator = sequence.makeAsyncIterator()
      return { try await iterator.next(isolation: #isolation) }
    }
    return RequestBody(
      source: .stream(length: length, isReplayable: isReplayable, open: open), contentType: contentType,
      trailers: trailers)
  }
}

extension RequestBody: ExpressibleByStringInterpolation {
  /// Makes a body from a literal, like ``raw(_:contentType:)-(String,_)``: `body: "hello"`.
  public init(stringLiteral text: String) { self = .raw(text) }
}
