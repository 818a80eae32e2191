// SPDX-License-Identifier: Apache-2.0

public import HTTPTypes
internal import LastroSupport

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// A payload that does not decode into the model: what it was, and where it went wrong.
public struct DecodeFailure: Error, CustomStringConvertible {
  /// What the decoder threw.
  public let underlying: any Error
  /// Where in the payload, such as `items[2].name`; empty at its top, or where the decoder did not say. At most 200
  /// characters, on one line.
  public let codingPath: String
  /// What is wrong, in one line; no values of the payload.
  public let message: String
  /// Status of the answer; `nil` where the stack's responses have none.
  public let status: HTTPResponse.Status?
  /// Header fields of the answer; empty where the stack's responses have none.
  public let headerFields: HTTPFields
  /// The beginning of the payload, masked; `nil` where the payload is not data.
  public let snippet: BodySnippet?
  /// The byte at which a payload stops being JSON that did not decode for that reason.
  private let fault: JSONFaultPlace?

  /// Describes a failure. What is known about the answer is taken from `payload` and `metadata` where they are `Data`
  /// and ``ResourceResponse``.
  public init<Payload, Metadata>(_ underlying: any Error, payload: Payload, metadata: Metadata) {
    self.init(underlying, payload: payload, metadata: metadata, snippetBytes: 512)
  }

  package init<Payload, Metadata>(_ underlying: any Error, payload: Payload, metadata: Metadata, snippetBytes: Int) {
    let response = metadata as? ResourceResponse
    let (path, message) = Self.explain(underlying)
    self.underlying = underlying
    let redaction = response?.redaction ?? .standard
    self.codingPath = redaction.text(path)
    self.message = redaction.text(message)
    status = response?.status
    headerFields = response?.headerFields ?? [:]
    fault = message == Self.noJSON ? (payload as? Data).flatMap(JSONFaultPlace.init) : nil
    snippet =
      snippetBytes > 0 ? (payload as? Data).map { BodySnippet($0, limit: snippetBytes, redaction: redaction) } : nil
  }

  /// One line: path, message, status; of a body that is no JSON, its type and its beginning.
  public var description: String {
    let place = codingPath.isEmpty ? "" : "at \(codingPath): "
    let detail = (foreign.map { "it is \($0)" } ?? fault?.words).map { ": \($0)" }
    return "\(place)\(message)" + (detail ?? "")
      + (status.map { " (status \($0.code))" } ?? "")
  }

  /// What came in place of JSON.
  private var foreign: String? { message == Self.noJSON ? snippet?.foreign(to: headerFields) : nil }

  /// How to fix it.
  var hint: String {
    foreign == nil
      ? "compare the model with the payload"
      : "look at the URL, and at what may answer in the API's place, such as a proxy"
  }

  private static let noJSON = "the payload is not valid JSON"

  /// One line on what a decoder threw: no more of the payload than names, and those bounded.
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
      // The end of an array has no value either.
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

  /// A decoder's sentence up to where it quotes the payload.
  private static func withoutValues(_ text: String) -> String {
    var text = text[...]
    for mark in [" from invalid ", "Parsed JSON number"] {
      if let range = text.firstRange(of: mark) { text = text[..<range.lowerBound] }
    }
    if text.hasPrefix("The given data was not valid JSON") { return noJSON }
    return text.isEmpty ? "the value cannot be decoded" : bounded(text)
  }

  /// At most 200 characters, on one line.
  private static func bounded(_ text: some StringProtocol) -> String {
    // A `Character` may be long, a scalar is not.
    let head = text.unicodeScalars.prefix(200)
    return head.map { $0.isControl ? $0.escaped(asASCII: true) : String($0) }.joined()
      + (head.endIndex < text.unicodeScalars.endIndex ? "…" : "")
  }

  /// Keys of dictionaries are payload.
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

/// The place in a payload at which it stops being JSON.
private struct JSONFaultPlace {
  var words: String

  init?(_ payload: Data) {
    guard !payload.isEmpty, let offset = JSONFault.offset(in: Array(payload)) else { return nil }
    words =
      offset == payload.count
      ? "it ends after \(offset) byte\(offset == 1 ? "" : "s"), within a value"
      : "byte \(offset + 1) cannot be there"
  }
}
