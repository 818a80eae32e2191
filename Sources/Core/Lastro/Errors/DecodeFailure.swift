// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
public import HTTPTypes
internal import LastroSupport

/// A payload that does not decode into the model, with the place of the first fault.
public struct DecodeFailure: Error, CustomStringConvertible {
  /// The error that the decoder threw.
  public let underlying: any Error
  /// The path of the fault in the payload, such as `items[2].name`; empty if the fault is at the top level or the
  /// decoder did not report a path. At most 200 characters, on one line.
  public let codingPath: String
  /// A one-line description of the fault, without values from the payload.
  public let message: String
  /// The status of the response; `nil` if the stack's responses have none.
  public let status: HTTPResponse.Status?
  /// The header fields of the response; empty if the stack's responses have none.
  public let headerFields: HTTPFields
  /// The beginning of the payload, masked; `nil` if the payload is not `Data`.
  package let snippet: BodySnippet?
  /// The place of the first byte that makes the payload invalid JSON; `nil` if decoding failed for another reason.
  private let fault: String?

  /// Describes a failure. Details of the response are read from `payload` if it is `Data`, and from `metadata` if it is
  /// a ``ResourceResponse``.
  package init<Payload, Metadata>(
    _ underlying: any Error, payload: Payload, metadata: Metadata, snippetBytes: Int = 512
  ) {
    let response = metadata as? ResourceResponse
    let (path, message) = Self.explain(underlying)
    self.underlying = underlying
    let redaction = response?.redaction ?? .standard
    self.codingPath = redaction.text(path)
    self.message = redaction.text(message)
    status = response?.status
    headerFields = response?.headerFields ?? [:]
    fault = message == Self.noJSON ? (payload as? Data).flatMap(Self.placeOfFault) : nil
    snippet =
      snippetBytes > 0 ? (payload as? Data).map { BodySnippet($0, limit: snippetBytes, redaction: redaction) } : nil
  }

  /// The path, the message and the status on one line. If the payload is not JSON, the line also has its content type,
  /// or the byte at which it stops being JSON.
  public var description: String {
    let place = codingPath.isEmpty ? "" : "at \(codingPath): "
    let detail = (foreign.map { "it is \($0)" } ?? fault).map { ": \($0)" }
    return "\(place)\(message)" + (detail ?? "")
      + (status.map { " (status \($0.code))" } ?? "")
  }

  /// A description of the payload that was received in place of JSON.
  private var foreign: String? { message == Self.noJSON ? snippet?.foreign(to: headerFields) : nil }

  /// A suggested fix.
  var hint: String {
    foreign == nil
      ? "compare the model with the payload"
      : "check the URL, and whether something else responds in place of the API, such as a proxy"
  }

  private static let noJSON = "the payload is not valid JSON"

  /// Returns one line about an error that a decoder threw. From the payload it includes only names of keys, bounded in
  /// length.
  package static func line(_ error: any Error) -> String {
    let (path, message) = explain(error)
    return path.isEmpty ? message : "at \(path): \(message)"
  }

  private static func explain(_ error: any Error) -> (path: String, message: String) {
    guard let error = error as? DecodingError else { return ("", bounded("\(error)")) }
    switch error {
    case .keyNotFound(let key, let context):
      return (path(context.codingPath), "the key \"\(bounded(key.stringValue))\" is missing")
    case .valueNotFound(let type, let context):
      // Foundation also reports the end of an array as a missing value.
      let found = context.debugDescription.contains(" at end") ? "missing" : "null"
      return (path(context.codingPath), "the value is \(found), \(type) was expected")
    case .typeMismatch(let type, let context):
      return (
        path(context.codingPath),
        "the value is \(DecodingError.found(context) ?? "of another type"), \(type) was expected"
      )
    case .dataCorrupted(let context): return (path(context.codingPath), withoutValues(context.debugDescription))
    @unknown default: return ("", "the payload does not decode")
    }
  }

  /// Returns a decoder's message up to the point where it quotes the payload.
  private static func withoutValues(_ text: String) -> String {
    var text = text[...]
    for mark in [" from invalid ", "Parsed JSON number"] {
      if let range = text.firstRange(of: mark) { text = text[..<range.lowerBound] }
    }
    if text.hasPrefix("The given data was not valid JSON") { return noJSON }
    return text.isEmpty ? "the value cannot be decoded" : bounded(text)
  }

  /// Returns the place at which a payload stops being JSON, in words.
  private static func placeOfFault(in payload: Data) -> String? {
    guard !payload.isEmpty, let offset = JSONFault.offset(in: Array(payload)) else { return nil }
    return offset == payload.count
      ? "it ends after \(offset) byte\(offset == 1 ? "" : "s"), within a value"
      : "byte \(offset + 1) cannot be there"
  }

  /// Returns at most 200 scalars of a text, with control characters escaped.
  private static func bounded(_ text: some StringProtocol) -> String {
    // Count scalars: a single `Character` may be arbitrarily long.
    let head = text.unicodeScalars.prefix(200)
    return head.map { $0.isControl ? $0.escaped(asASCII: true) : String($0) }.joined()
      + (head.endIndex < text.unicodeScalars.endIndex ? "…" : "")
  }

  /// Returns a coding path as text. The path is bounded, because keys of dictionaries come from the payload.
  private static func path(_ keys: [any CodingKey]) -> String {
    var path = ""
    for key in keys.prefix(64) {
      if let index = key.intValue {
        path += "[\(index)]"
      } else {
        path += (path.isEmpty ? "" : ".") + bounded(key.stringValue)
      }
    }
    return bounded(path)
  }
}
