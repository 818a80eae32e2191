// SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials
internal import Lastro

/// An API error in the standard format of RFC 9457, such as `application/problem+json`.
///
/// ```swift
/// do {
///   return try await stack.fetch(.get("/orders/7", as: Order.self, or: ProblemDetails.self)).value
/// } catch where error.apiError?.type == "https://shop.example/problems/stock" {
///   let shortage = try error.apiError?.members(as: Shortage.self)
/// }
/// ```
///
/// As the RFC demands, a member with a value of the wrong type is ignored. So is an entry of ``errors`` that is not an
/// object. An object without any member of the RFC is not a problem, and does not decode.
public struct ProblemDetails: Error, Sendable, Hashable, Decodable, CustomStringConvertible {
  /// A single problem of several, as in RFC 9457 §3: `{"detail": "must be positive", "pointer": "#/age"}`.
  public struct Entry: Sendable, Hashable {
    /// The explanation of this problem; `nil` if there is none.
    public var detail: String?
    /// The place in the request's body, a JSON Pointer (RFC 6901) as the API wrote it; `nil` if there is none.
    public var pointer: String?

    /// Makes an entry.
    public init(detail: String? = nil, pointer: String? = nil) {
      self.detail = detail
      self.pointer = pointer
    }
  }

  /// The type of problem that applies if an API names none (§3.1.1).
  public static let blank = "about:blank"
  private static let maximumEntries = 1000

  /// The URI of the type of problem, which identifies it. A relative reference is relative to the response's URL.
  /// Default ``blank``: the status says everything.
  public var type = Self.blank
  /// The title of the type of problem; `nil` if there is none.
  public var title: String?
  /// The status that the origin server used; `nil` if there is none. An intermediary may have changed the status of the
  /// response.
  public var status: Int?
  /// The explanation of this occurrence, for people; `nil` if there is none.
  public var detail: String?
  /// The URI of this occurrence, which may be relative as ``type``; `nil` if there is none.
  public var instance: String?
  /// The individual problems, if the API lists them in the member `errors`. At most 1,000; the others are ignored.
  public var errors: [Entry] = []
  /// The complete object as it was decoded, for ``members(as:decoder:)``; empty for a value that was not decoded.
  private var object: [String: JSONTree] = [:]

  /// Makes a value, for tests.
  public init(
    type: String = Self.blank, title: String? = nil, status: Int? = nil, detail: String? = nil, instance: String? = nil,
    errors: [Entry] = []
  ) {
    self.type = type
    self.title = title
    self.status = status
    self.detail = detail
    self.instance = instance
    self.errors = errors
  }

  /// Decodes a problem.
  ///
  /// - Throws: `DecodingError` if the value is not an object with a member of the RFC.
  public init(from decoder: any Decoder) throws {
    object = try decoder.singleValueContainer().decode([String: JSONTree].self)
    title = object["title"]?.string
    status = object["status"]?.integer
    detail = object["detail"]?.string
    instance = object["instance"]?.string
    if let name = object["type"]?.string, !name.isEmpty { type = name }
    errors = (object["errors"]?.elements ?? []).lazy.compactMap(\.members).prefix(Self.maximumEntries).map {
      Entry(detail: $0["detail"]?.string, pointer: $0["pointer"]?.string)
    }
    guard title ?? detail ?? instance ?? object["type"]?.string != nil || status != nil || !errors.isEmpty else {
      throw DecodingError.dataCorrupted(
        .init(codingPath: decoder.codingPath, debugDescription: "the object has no member of a problem (RFC 9457)"))
    }
  }

  /// Decodes the extension members of the API (§3.2).
  ///
  /// - Parameters:
  ///   - type: a type with the members as properties. Members that it does not have are ignored.
  ///   - decoder: the decoder, which gets the members under the API's names. Default: one with default settings.
  /// - Throws: the decoder's error.
  public func members<Members: Decodable>(
    as type: Members.Type = Members.self, decoder: JSONDecoder = JSONDecoder()
  ) throws -> Members {
    try decoder.decode(type, from: JSONEncoder().encode(object))
  }

  /// Returns whether the problems have the same standard members, however they were made.
  public static func == (one: Self, other: Self) -> Bool {
    one.type == other.type && one.title == other.title && one.status == other.status && one.detail == other.detail
      && one.instance == other.instance && one.errors == other.errors
  }

  /// Hashes the type, the title, the status and the detail.
  public func hash(into hasher: inout Hasher) {
    hasher.combine(type)
    hasher.combine(title)
    hasher.combine(status)
    hasher.combine(detail)
  }

  /// The title and the detail, the first entries of ``errors``, and the type unless it is ``blank``; one line of at most
  /// 500 characters.
  public var description: String {
    var parts = [title, detail].compactMap { $0 }
    if parts.isEmpty { parts = [status.map { "status \($0)" } ?? "no title or detail"] }
    var line = parts.joined(separator: ": ")
    let shown = errors.prefix(5).map { [$0.pointer, $0.detail].compactMap { $0 }.joined(separator: " ") }
    if !shown.isEmpty { line += " [\(shown.joined(separator: "; "))\(errors.count > 5 ? "; …" : "")]" }
    line = (type == Self.blank ? line : "\(line) (\(type))").onOneLine
    return line.unicodeScalars.count > 500
      ? String(String.UnicodeScalarView(line.unicodeScalars.prefix(500))) + "…" : line
  }
}
