// SPDX-License-Identifier: Apache-2.0

internal import HTTPTypes

/// Returns a request with the signatures of all signers for its origin, applied in array order. The body is hashed
/// once, or not at all if there is no such signer.
///
/// - Throws: the errors of a signer; an error with code `invalid_url` if a signer changed the origin of the request, and
///   with code `invalid_body` if one replaces the body whose hash another one signs;
///   the errors of ``MessageDigest/computed(of:)``.
package func signed(
  _ request: ResourceRequest, by signers: [any RequestSigner], context: AttemptContext
) async throws -> ResourceRequest {
  guard !signers.isEmpty, let origin = Origin(request.head) else { return request }
  var result = request
  let responsible = signers.filter { $0.origins.contains(origin) }
  guard !responsible.isEmpty else { return request }
  let needsDigest = responsible.contains { ($0 as? any StandardSigner)?.usesBodyDigest ?? true }
  let replacesBody = responsible.contains { ($0 as? any StandardSigner)?.replacesBody ?? false }
  guard !replacesBody || !needsDigest || request.body.isEmpty else {
    throw TransportError.refused(
      .invalidBody, "a signer sends the body in chunks, so the hash that another one signs is not that of what is sent",
      hint: "sign the payload as a whole, or do not cover its digest")
  }
  let bodyDigest = needsDigest ? try await MessageDigest.computed(of: request.body) : nil
  for signer in responsible {
    var next = try await signer.sign(result, bodyDigest: bodyDigest, context: context)
    guard Origin(next.head) == origin else {
      throw TransportError.refused(
        .invalidURL, "a signer changed the request's origin, which was \(origin)",
        hint: "change only header fields and query items in a signer; change the origin in an interceptor")
    }
    let standard = signer as? any StandardSigner
    if standard?.replacesBody != true { next.body = result.body }
    if let standard { next.options.notes.append(.init("signed", text: "signed: \(standard.signature)")) }
    next.options.sensitiveHeaders.formUnion(next.head.headerFields.names(differingFrom: result.head.headerFields))
    result = next
  }
  return result
}

extension [any RequestSigner] {
  /// Returns a description of each signer that signs the requests to an origin.
  func explanations(for origin: Origin) -> [String] {
    filter { $0.origins.contains(origin) }.map { ($0 as? any StandardSigner)?.signature ?? "\(type(of: $0))" }
  }
}

extension HTTPFields {
  /// Returns the names of the fields whose values differ from those in `other`.
  fileprivate func names(differingFrom other: HTTPFields) -> Set<HTTPField.Name> {
    Set(map(\.name)).filter { self[fields: $0].map(\.value) != other[fields: $0].map(\.value) }
  }
}
