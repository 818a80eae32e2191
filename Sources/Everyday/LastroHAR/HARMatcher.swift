// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
package import HTTPTypes
import Lastro
import LastroSupport

/// A comparison of requests with recorded ones. A masked text matches any text.
package struct HARMatcher: Sendable {
  /// A difference between two requests. The raw values appear in error messages.
  enum Difference: String {
    case method = "the method"
    case origin = "the host"
    case path = "the path"
    case query = "the query"
    case headers = "the header fields"
    case body = "the body"

    /// The weight of the difference in the search for the nearest exchange.
    var weight: Int {
      switch self {
      case .origin: 32
      case .path: 16
      case .method: 8
      case .query: 4
      case .body: 2
      case .headers: 1
      }
    }
  }

  /// The names of the fields that are compared.
  let headers: Set<HTTPField.Name>
  let comparesBody: Bool
  /// Whether the items of queries may have another order. Items of one name keep theirs.
  let ignoresQueryOrder: Bool

  package init(headers: Set<HTTPField.Name> = [], comparesBody: Bool, ignoresQueryOrder: Bool = false) {
    self.headers = headers
    self.comparesBody = comparesBody
    self.ignoresQueryOrder = ignoresQueryOrder
  }

  func differences(_ request: TransferRequest, _ entry: HAR.Entry) -> [Difference] {
    var result: [Difference] = []
    if request.head.method.rawValue != entry.request.method { result.append(.method) }
    let asked = URLParts(request.resourceRequest.url)
    let recorded = URLParts(entry.request.url)
    if !Self.matches(asked.origin, recorded.origin) { result.append(.origin) }
    if !Self.matches(asked.path, recorded.path) { result.append(.path) }
    if !hasSameQuery(asked.query, recorded.query) { result.append(.query) }
    if !headers.allSatisfy({ isSame($0, request, entry) }) { result.append(.headers) }
    if comparesBody, !hasSameBody(request, entry) { result.append(.body) }
    return result
  }

  func distance(_ request: TransferRequest, _ entry: HAR.Entry) -> Int {
    differences(request, entry).reduce(0) { $0 + $1.weight }
  }

  private func hasSameQuery(_ asked: String, _ recorded: String) -> Bool {
    if Self.matches(asked, recorded) { return true }
    guard ignoresQueryOrder else { return false }
    let (asked, recorded) = (Self.sortedItems(asked), Self.sortedItems(recorded))
    return asked.count == recorded.count && zip(asked, recorded).allSatisfy { Self.matches($0.text, $1.text) }
  }

  /// Returns the items of a query, sorted by their names. Their values may be masked.
  private static func sortedItems(_ query: String) -> [(name: String, text: String)] {
    let items = query.split(separator: "&").map { (name: String($0.prefix { $0 != "=" }), text: String($0)) }
    return items.enumerated().sorted { ($0.element.name, $0.offset) < ($1.element.name, $1.offset) }.map(\.element)
  }

  private func isSame(_ name: HTTPField.Name, _ request: TransferRequest, _ entry: HAR.Entry) -> Bool {
    let asked = request.head.headerFields[values: name]
    let recorded = entry.request.headers.filter { $0.name.lowercased() == name.canonicalName }.map(\.value)
    return asked.count == recorded.count && zip(asked, recorded).allSatisfy { Self.matches($0, $1) }
  }

  private func hasSameBody(_ request: TransferRequest, _ entry: HAR.Entry) -> Bool {
    let asked: Data
    switch request.resourceRequest.recordedBody.source {
    case .empty: asked = Data()
    case .bytes(let data): asked = data
    case .file, .stream: return entry.request.postData != nil
    }
    guard let recorded = entry.request.postData else { return asked.isEmpty }
    // A partial body does not determine the rest.
    if recorded.isTruncated == true { return !asked.isEmpty }
    guard let text = recorded.text else { return asked.isEmpty || recorded.mimeType.contains("form") }
    if recorded.encoding == "base64" {
      guard let bytes = Data(base64Encoded: text) else { return false }
      // A binary body may contain masks too.
      return bytes == asked || Self.matches(HARBody.characters(of: asked), HARBody.characters(of: bytes))
    }
    if Self.matches(String(decoding: asked, as: UTF8.self), text) { return true }
    guard let askedJSON = JSONValue(asked), let recordedJSON = JSONValue(masked: text) else { return false }
    return askedJSON.matches(recordedJSON)
  }

  /// Whether a text matches a recorded one, in which a mask matches any text.
  package static func matches(_ text: String, _ recorded: String) -> Bool {
    if text == recorded { return true }
    guard recorded.contains(Redaction.mask) else { return false }
    var pieces = recorded.split(separator: Redaction.mask, omittingEmptySubsequences: false)
    guard let last = pieces.popLast(), let first = pieces.first, text.hasPrefix(first) else { return false }
    var rest = text.dropFirst(first.count)
    for piece in pieces.dropFirst() where !piece.isEmpty {
      guard let found = rest.firstRange(of: piece) else { return false }
      rest = rest[found.upperBound...]
    }
    return rest.hasSuffix(last)
  }

  /// The parts of a URL that are compared. The fragment is ignored.
  private struct URLParts {
    var origin: String
    var path: String
    var query: String

    init(_ url: String) {
      let whole = url.prefix { $0 != "#" }
      let mark = whole.firstIndex(of: "?") ?? whole.endIndex
      query = String(whole[mark...].dropFirst())
      let place = whole[..<mark]
      let start = place.firstRange(of: "://")?.upperBound ?? place.startIndex
      let slash = place[start...].firstIndex(of: "/") ?? place.endIndex
      origin = (try? Origin(String(place[..<slash])))?.description ?? place[..<slash].lowercased()
      path = slash == place.endIndex ? "/" : String(place[slash...])
    }
  }
}

extension JSONValue {
  fileprivate init?(_ data: Data) {
    guard let value = try? JSONDecoder().decode(JSONValue.self, from: data) else { return nil }
    self = value
  }

  /// Parses JSON in which a masked number is a mask without quotes.
  fileprivate init?(masked text: String) {
    if let value = JSONValue(Data(text.utf8)) {
      self = value
    } else {
      let bare = text.replacing("\"\(Redaction.mask)\"", with: Redaction.mask)
      self.init(Data(bare.replacing(Redaction.mask, with: "\"\(Redaction.mask)\"").utf8))
    }
  }

  fileprivate func matches(_ recorded: JSONValue) -> Bool {
    switch (self, recorded) {
    case (_, .string(Redaction.mask)), (.null, .null): true
    case (.bool(let one), .bool(let other)): one == other
    case (.string(let one), .string(let other)): HARMatcher.matches(one, other)
    case (.array(let one), .array(let other)):
      one.count == other.count && zip(one, other).allSatisfy { $0.matches($1) }
    case (.object(let one), .object(let other)):
      one.count == other.count
        && one.allSatisfy { key, value in other[key].map { value.matches($0) } ?? false }
    default: asDouble.map { $0 == recorded.asDouble } ?? false
    }
  }
}
