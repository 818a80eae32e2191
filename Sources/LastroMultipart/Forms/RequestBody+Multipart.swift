// SPDX-License-Identifier: Apache-2.0

public import Lastro
internal import LastroWire

#if canImport(FoundationEssentials)
  internal import FoundationEssentials
#else
  internal import Foundation
#endif

extension RequestBody {
  /// A form, of type `multipart/form-data` with its boundary.
  ///
  /// Up to a megabyte that is in memory is sent as bytes; any other form is put together while it is sent, in pieces
  /// of 64 KiB. Its length is announced where each part has one.
  ///
  /// - Throws: stage `request`: code `invalid_body` for a boundary that cannot be one, a part with trailers, or a
  ///   length that no number holds; `invalid_header` for a type or a field of a part that cannot be sent.
  public static func multipart(_ form: MultipartForm) throws(TransportError) -> RequestBody {
    var parts: [(head: FormPartHead, length: Int64?)] = []
    for part in form.parts { parts.append((try part.head(), part.body.length)) }
    let boundary = try form.boundary.boundary(of: parts)
    var layout = FormLayout()
    for (part, source) in zip(parts, form.parts) {
      layout.add(part.head.bytes(boundary))
      layout.add(source.body.source)
      layout.add(FormPartHead.end)
    }
    layout.add(FormPartHead.close(boundary))
    return RequestBody(
      source: try layout.source(), contentType: "multipart/form-data; boundary=\(boundary.parameter)",
      secrets: form.parts.flatMap(\.body.secrets))
  }

  /// A form of texts alone, in their order.
  ///
  /// ```swift
  /// let answer = try await stack.fetch(.send(.post, url, body: .multipart(["title": "Lisbon", "year": "1755"])))
  /// ```
  ///
  /// - Throws: as for any form.
  public static func multipart(_ texts: KeyValuePairs<String, String>) throws(TransportError) -> RequestBody {
    var form = MultipartForm()
    for (name, value) in texts { form.add(name, value) }
    return try multipart(form)
  }
}
