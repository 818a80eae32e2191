// SPDX-License-Identifier: Apache-2.0

public import Lastro
internal import LastroWire

extension ResponseBody {
  /// The parts of an answer of any multipart type: `multipart/mixed`, `multipart/byteranges`, `multipart/form-data`.
  ///
  /// ```swift
  /// let answer = try await stack.stream(.get(url, headers: [.range: "bytes=0-99,5000-5099"]))
  /// for try await part in try answer.value.parts(of: answer.response) {
  ///   try await save(part.body.collect(upTo: 1 << 20), at: part.byteRange?.bounds.lowerBound)
  /// }
  /// ```
  ///
  /// The body is the parts' from here on: it is not to be read beside them.
  ///
  /// - Parameters:
  ///   - response: names type and boundary.
  ///   - limits: default ``MultipartLimits/init()``.
  /// - Throws: stage `response` with code `unexpected_content_type` where the answer is not of several parts, or
  ///   `malformed_response` where no boundary is named; stage `request`, code `invalid_option` for limits below 0.
  public func parts(
    of response: ResourceResponse, limits: MultipartLimits = MultipartLimits()
  ) throws(TransportError) -> MultipartParts {
    try parts(contentType: response.headerFields[.contentType], limits: limits)
  }

  /// The parts of a body of a multipart type, such as that of a part.
  ///
  /// - Parameters:
  ///   - contentType: the type with its boundary.
  ///   - limits: default ``MultipartLimits/init()``.
  /// - Throws: as ``parts(of:limits:)``.
  public func parts(
    contentType: String?, limits: MultipartLimits = MultipartLimits()
  ) throws(TransportError) -> MultipartParts {
    guard let contentType, let type = ParameterizedValue(contentType), type.essence.hasPrefix("multipart/") else {
      throw .notMultipart(contentType)
    }
    guard let boundary = type.only("boundary").flatMap({ MultipartBoundary(reading: $0) }) else { throw .noBoundary }
    let isByteRanges = type.essence == "multipart/byteranges"
    let machine = MultipartMachine(
      boundary: boundary, limits: try limits.checked(isByteRanges: isByteRanges))
    return MultipartParts(reader: PartReader(self, machine, isByteRanges: isByteRanges))
  }
}
