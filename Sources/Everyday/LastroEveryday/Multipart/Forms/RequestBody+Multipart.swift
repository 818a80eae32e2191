// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
public import Lastro
internal import LastroWire

extension RequestBody {
  /// Returns the body for a form, of type `multipart/form-data` with the form's boundary.
  ///
  /// A form in memory of up to a megabyte is sent as bytes; any other form is assembled while it is sent, in pieces of
  /// at most 128 KiB. The length is announced if every part has one.
  ///
  /// - Throws: stage `request`: code `invalid_body` for an invalid boundary, a part with trailers, or a length that
  ///   overflows; `invalid_header` for a content type or a field of a part that cannot be sent.
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

  /// Returns the body for a form of texts only, in order.
  ///
  /// ```swift
  /// let answer = try await stack.fetch(.send(.post, url, body: .multipart(["title": "Lisbon", "year": "1755"])))
  /// ```
  ///
  /// - Throws: the same errors as for any form.
  public static func multipart(_ texts: KeyValuePairs<String, String>) throws(TransportError) -> RequestBody {
    var form = MultipartForm()
    for (name, value) in texts { form.add(name, value) }
    return try multipart(form)
  }
}
