// SPDX-License-Identifier: Apache-2.0

package import FoundationEssentials
internal import HTTPTypes
internal import LastroSupport
internal import LastroWire

/// The interceptor that `.compressing(_:from:)` makes, where it is documented.
package final class RequestCompressor: PromptInterceptor {
  /// The number of origins whose refusal is remembered. The oldest one is forgotten.
  private static let maximumOrigins = 256
  /// The number of bytes in memory up to which a body is compressed before it is sent. More would hold up the call,
  /// whose deadline and cancellation have no effect meanwhile.
  private static let maximumAtOnce = 1 << 20
  /// The fields with a digest of the body.
  private static let digests: Set<String> = ["content-digest", "content-md5", "digest", "repr-digest"]
  /// The fields of a request whose body must be sent as it is: it has a coding or a digest, is a part, or begins an
  /// upload that counts bytes of the file.
  private static let fixing = digests.union([
    "content-encoding", "content-range", "upload-complete", "upload-length", "upload-offset",
  ])

  private let coding: ContentCoding
  private let minimum: Int
  /// The origins that refuse the coding.
  private let refusing = Lock<[Origin]>([])

  init(_ coding: ContentCoding, from minimum: Int) { (self.coding, self.minimum) = (coding, minimum) }

  package func adapt(_ request: inout ResourceRequest, context: AttemptContext) async throws {
    try compress(&request, atOnceUpTo: Self.maximumAtOnce)
  }

  private func compress(_ request: inout ResourceRequest, atOnceUpTo maximum: Int) throws(TransportError) {
    guard minimum >= 0 else {
      throw .refused(
        .invalidOption, "the minimum size of compressed bodies is \(minimum), below 0", hint: "give 0 or more")
    }
    // After a redirect, the body is that of the previous request, and another server may refuse the coding.
    if let plain = request.options.uncodedBody {
      request.options.uncodedBody = nil
      if !request.body.isEmpty {
        request.body = plain
        request.head.headerFields[.contentEncoding] = nil
        // A signer added them for the compressed bytes: no request that has them beforehand is compressed.
        request.head.headerFields.removeAll { Self.digests.contains($0.name.canonicalName) }
      }
    }
    guard !request.body.isEmpty, (request.body.length ?? .max) >= Int64(minimum), !Self.isFixed(request) else { return }
    if let origin = Origin(request.head), refusing.withLock({ $0.contains(origin) }) {
      let text = "the body was not compressed: \(origin) refuses \(coding.name)"
      return request.options.notes.append(.init("compressed", detail: "refused", text: text))
    }
    let plain = request.body
    guard let compressed = try plain.compressed(by: coding, atOnceUpTo: maximum) else { return }
    request.body = compressed
    request.options.uncodedBody = plain
    request.head.headerFields[.contentEncoding] = coding.name
    request.head.headerFields[.contentLength] = nil
    let sizes = compressed.length.flatMap { after in plain.length.map { ", \($0) bytes to \(after)" } } ?? ""
    request.options.notes.append(
      .init("compressed", detail: coding.name, text: "the body was compressed with \(coding.name)\(sizes)"))
  }

  /// Returns whether the body must be sent as it is. gRPC compresses messages one by one, with fields of its own.
  private static func isFixed(_ request: ResourceRequest) -> Bool {
    let type = request.head.headerFields[.contentType] ?? request.body.contentType ?? ""
    return type.lowercased().hasPrefix("application/grpc")
      || request.head.headerFields.contains { fixing.contains($0.name.canonicalName) }
  }

  package func interceptSucceeded(
    _ request: ResourceRequest, response: ResourceResponse, body: Data?, context: AttemptContext
  ) async {
    if let origin = Origin(request.head), let accepts = accepts(response) { note(origin, refuses: !accepts) }
  }

  /// Requests another attempt after a 415 for a body that was compressed here.
  package func interceptFailed(
    _ request: ResourceRequest?, response: ResourceResponse?, body: Data?, error: HTTPFetchError<any Error>,
    context: AttemptContext
  ) async -> Retry.Action {
    guard let request, let response, let origin = Origin(request.head) else { return .none }
    let accepts = accepts(response)
    if let accepts { note(origin, refuses: !accepts) }
    guard response.status == .unsupportedMediaType, !request.body.isEmpty else { return .none }
    let isCoded =
      request.options.uncodedBody != nil
      && request.head.headerFields[.contentEncoding]?.hasSuffix(coding.name) ?? false
    // A server that accepts the coding, or that refuses the plain body of the same call as well, refuses the type of the
    // body. The plain body of another call says nothing about the coding.
    if accepts == nil, isCoded || context.follows415 { note(origin, refuses: isCoded) }
    return isCoded && accepts != true ? .retry : .none
  }

  /// Returns whether the server accepts the coding in requests (RFC 7694); `nil` if it does not say.
  private func accepts(_ response: ResourceResponse) -> Bool? {
    guard let field = response.head.headerFields[.acceptEncoding] else { return nil }
    let (name, alias) = (coding.name, coding.alias)
    var acceptsOthers = false
    for element in FieldSyntax.elements(field.lowercased()) {
      let parts = element.split(separator: ";").map { part in String(part.filter { $0 != " " && $0 != "\t" }) }
      guard let coding = parts.first else { continue }
      let isAccepted = !parts.dropFirst().contains { $0.hasPrefix("q=") && Double($0.dropFirst(2)) == 0 }
      if coding == name || coding == alias { return isAccepted }
      if coding == "*" { acceptsOthers = isAccepted }
    }
    return acceptsOthers
  }

  private func note(_ origin: Origin, refuses: Bool) {
    refusing.withLock { origins in
      guard refuses else { return origins.removeAll { $0 == origin } }
      guard !origins.contains(origin) else { return }
      if origins.count == Self.maximumOrigins { origins.removeFirst() }
      origins.append(origin)
    }
  }
}

extension AttemptContext {
  /// Whether an earlier attempt of the call ended with 415.
  fileprivate var follows415: Bool {
    retryState.errors.contains { ($0 as? HTTPFetchError<any Error>)?.statusCode == .unsupportedMediaType }
  }
}

extension RequestCompressor: ExplainableInterceptor {
  package var name: String { ".compressing" }

  /// The coding and the minimum.
  package var explanation: String { "compresses bodies of \(minimum) bytes or more with \(coding.name)" }

  package func explainedRequest(_ request: ResourceRequest) -> ResourceRequest {
    var request = request
    // Compress nothing: the bytes are not sent.
    try? compress(&request, atOnceUpTo: 0)
    return request
  }

  /// Returns a retry after a 415.
  package func explainedAction(
    after error: HTTPFetchError<any Error>, to request: ResourceRequest
  ) -> Retry.Action? {
    error.statusCode == .unsupportedMediaType && request.options.uncodedBody != nil ? .retry : Retry.Action.none
  }
}

extension HTTPResourceInterceptor where Self == StandardInterceptor {
  /// Returns an interceptor that compresses bodies of requests: `interceptors: [.retry, .compressing(.gzip)]`. Most
  /// stacks do not need it; use it for large bodies and servers that accept it.
  ///
  /// The request gets `Content-Encoding`. Up to 1 MiB of bytes in memory are compressed beforehand, and sent as they
  /// are if they do not become fewer. Larger bodies, files and streams are compressed while they are sent, without a
  /// `Content-Length`. Each chunk of a stream is sent at once, so small chunks compress less well. The body can be sent
  /// again if it could be without compression. Signers sign the compressed bytes. A request is left as it is if it has a
  /// `Content-Encoding`, a `Content-Range` or a digest of its body, and if it is part of a resumable upload or a call of
  /// gRPC.
  ///
  /// If a server responds with 415 (RFC 7694), the body is sent again without compression, regardless of the method,
  /// if it can be read again. The interceptor remembers 256 servers that refuse the coding, by 415 or by an
  /// `Accept-Encoding` in a response, and compresses no requests to them. Use one interceptor for many calls, therefore.
  ///
  /// Interceptors after this one see the compressed body. Put those that change the body in front of it. The ledger
  /// shows which requests were compressed.
  ///
  /// - Parameters:
  ///   - coding: the coding: `.gzip`, or `.zstd` of `LastroZstd`. Calls with a coding that compresses no requests fail
  ///     with `request/invalid_option`. Default `.gzip`.
  ///   - minimum: the number of bytes from which on bodies are compressed; 0 or more. Bodies of unknown length are
  ///     compressed. Calls with a negative number fail with `request/invalid_option`. Default 1,024.
  public static func compressing(_ coding: ContentCoding = .gzip, from minimum: Int = 1_024) -> Self {
    StandardInterceptor(RequestCompressor(coding, from: minimum))
  }
}
