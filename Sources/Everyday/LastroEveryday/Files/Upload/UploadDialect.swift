// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes
import Lastro

/// The format of the protocol's requests.
extension UploadProtocol {
  private static let interopVersion = "8"

  /// Adds the fields that every request carries.
  private func mark(_ request: inout ResourceRequest) throws(TransportError) {
    switch self {
    case .tus: try request.setHeader("Tus-Resumable", "1.0.0")
    case .draft: try request.setHeader("Upload-Draft-Interop-Version", Self.interopVersion)
    }
  }

  /// Turns the caller's request into the one that creates the upload.
  ///
  /// - Parameters:
  ///   - content: the whole content, if it is sent immediately.
  ///   - digest: the digest of the whole content, if it is sent.
  func create(
    _ request: inout ResourceRequest, length: Int64, metadata: [String: String], content: RequestBody?,
    digest: String? = nil
  ) throws(TransportError) {
    try mark(&request)
    request.options.idempotency = .notIdempotent
    try request.setHeader("Upload-Length", "\(length)")
    switch self {
    case .tus:
      request.head.method = .post
      let pairs = metadata.sorted { $0.key < $1.key }.map { name, value in
        value.isEmpty ? name : "\(name) \(Data(value.utf8).base64EncodedString())"
      }
      if !pairs.isEmpty { try request.setHeader("Upload-Metadata", pairs.joined(separator: ",")) }
    case .draft:
      if request.head.method == .get { request.head.method = .post }
      try request.setHeader("Upload-Complete", content == nil ? "?0" : "?1")
      if let digest { try request.setHeader("Repr-Digest", digest) }
    }
    // An empty body sends `Content-Length: 0`, instead of no length.
    request.body = content ?? .raw(Data())
  }

  func probe(_ request: inout ResourceRequest) throws(TransportError) {
    try mark(&request)
    request.head.method = .head
  }

  func append(
    _ request: inout ResourceRequest, from offset: Int64, isLast: Bool, content: RequestBody, digest: String? = nil
  ) throws(TransportError) {
    try mark(&request)
    request.options.idempotency = .notIdempotent
    request.head.method = .patch
    try request.setHeader("Upload-Offset", "\(offset)")
    switch self {
    case .tus: try request.setHeader("Content-Type", "application/offset+octet-stream")
    case .draft:
      try request.setHeader("Content-Type", "application/partial-upload")
      try request.setHeader("Upload-Complete", isLast ? "?1" : "?0")
      if let digest { try request.setHeader("Content-Digest", digest) }
    }
    request.body = content
  }

  func cancel(_ request: inout ResourceRequest) throws(TransportError) {
    try mark(&request)
    request.head.method = .delete
  }

  /// Returns the URL of the upload in an interim response; `nil` for a response of another version or another kind.
  func location(ofInterim head: HTTPResponse) -> String? {
    guard self == .draft, head.status.code == 104, head.headerFields[.interopVersion] == Self.interopVersion else {
      return nil
    }
    return head.headerFields[.location]
  }
}
