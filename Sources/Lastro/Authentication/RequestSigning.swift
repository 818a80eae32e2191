// SPDX-License-Identifier: Apache-2.0

internal import HTTPTypes

/// A request with the signatures of those signers that are for its origin, in array order. The body is hashed once, and
/// not at all where no signer signs.
///
/// - Throws: what a signer throws; code `invalid_url` when one changed where the request goes; as
///   ``BodyDigest/computed(of:)``.
package func signed(
  _ request: ResourceRequest, by signers: [any RequestSigner], context: AttemptContext
) async throws -> ResourceRequest {
  guard !signers.isEmpty, let origin = Origin(request.head) else { return request }
  var result = request
  var digest: BodyDigest?
  for signer in signers where signer.origins.contains(origin) {
    let bodyDigest: BodyDigest
    if let digest { bodyDigest = digest } else { bodyDigest = try await .computed(of: request.body) }
    digest = bodyDigest
    var next = try await signer.sign(result, bodyDigest: bodyDigest, context: context)
    guard Origin(next.head) == origin else {
      throw TransportError.refused(
        .invalidURL, "a signer moved the request away from \(origin)",
        hint: "set only header fields and query items in a signer; move requests in an interceptor")
    }
    next.body = request.body
    next.options.sensitiveHeaders.formUnion(next.head.headerFields.names(differingFrom: result.head.headerFields))
    result = next
  }
  return result
}

extension HTTPFields {
  /// The names whose values are not the same in both.
  fileprivate func names(differingFrom other: HTTPFields) -> Set<HTTPField.Name> {
    Set(map(\.name)).filter { self[fields: $0].map(\.value) != other[fields: $0].map(\.value) }
  }
}
