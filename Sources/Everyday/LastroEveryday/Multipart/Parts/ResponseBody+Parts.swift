// SPDX-License-Identifier: Apache-2.0

public import HTTPTypes
public import Lastro
internal import LastroWire

extension ResponseBody {
  /// Returns the parts of a response of any multipart type: `multipart/mixed`, `multipart/byteranges`,
  /// `multipart/form-data`.
  ///
  /// ```swift
  /// let answer = try await stack.stream(.get(url, headers: [.range: "bytes=0-99,5000-5099"]))
  /// for try await part in try answer.value.parts(of: answer.response.headerFields) {
  ///   try await save(part.body.collect(upTo: 1 << 20), at: part.byteRange?.lowerBound)
  /// }
  /// ```
  ///
  /// The returned sequence takes over the body, which must not be read otherwise. Nothing is read ahead of the reader,
  /// and at most one chunk of a part is in memory. Parts and bodies must be read by a single task. Unread bytes of a
  /// part are skipped. Leaving the loop, or releasing parts and bodies, cancels the transfer.
  ///
  /// The sequence throws the errors of reading the body; stage `response` with code `truncated_body` if the message
  /// ends before its last delimiter, or `malformed_response` if it violates RFC 2046; stage `limit` if it exceeds a
  /// limit.
  ///
  /// - Parameters:
  ///   - fields: the fields of the response, or of the part whose body this is. Their `Content-Type` names the type
  ///     and the boundary.
  ///   - maximumParts: the maximum number of parts. Default `nil`: 1,000, or 10,000 for `multipart/byteranges`.
  ///   - maximumHeadBytes: the maximum size of a part's head in bytes. Default 16 KiB.
  ///   - maximumFields: the maximum number of fields in a part's head. Default 32.
  /// - Throws: stage `response` with code `unexpected_content_type` if the response is not multipart, or
  ///   `malformed_response` if it names no boundary; stage `request`, code `invalid_option` for limits below 0.
  public func parts(
    of fields: HTTPFields, maximumParts: Int? = nil, maximumHeadBytes: Int = 16 * 1024, maximumFields: Int = 32
  ) throws(TransportError) -> some AsyncSequence<MultipartPart, TransportError> & Sendable {
    try parts(
      contentType: fields[.contentType], maximumParts: maximumParts, maximumHeadBytes: maximumHeadBytes,
      maximumFields: maximumFields)
  }

  func parts(
    contentType: String?, maximumParts: Int? = nil, maximumHeadBytes: Int = 16 * 1024, maximumFields: Int = 32
  ) throws(TransportError) -> MultipartParts {
    guard let contentType, let type = ParameterizedValue(contentType), type.essence.hasPrefix("multipart/") else {
      throw .notMultipart(contentType)
    }
    guard let boundary = type.only("boundary").flatMap({ MultipartBoundary(reading: $0) }) else { throw .noBoundary }
    let isByteRanges = type.essence == "multipart/byteranges"
    var limits = MultipartMachine.Limits()
    limits.parts = maximumParts ?? (isByteRanges ? 10_000 : 1_000)
    limits.headBytes = maximumHeadBytes
    limits.fields = maximumFields
    for (name, value) in [
      ("maximumParts", limits.parts), ("maximumHeadBytes", limits.headBytes), ("maximumFields", limits.fields),
    ] where value < 0 {
      throw .refused(.invalidOption, "\(name) is \(value), below the minimum of 0", hint: "give 0 or more")
    }
    let machine = MultipartMachine(boundary: boundary, limits: limits)
    return MultipartParts(reader: PartReader(self, machine, isByteRanges: isByteRanges))
  }
}
