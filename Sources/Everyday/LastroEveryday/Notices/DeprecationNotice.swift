// SPDX-License-Identifier: Apache-2.0

internal import HTTPTypes
public import Lastro
internal import LastroWire

/// A server's announcement that a resource is deprecated (RFC 9745), or will stop responding (RFC 8594).
public struct DeprecationNotice: Sendable, Hashable, CustomStringConvertible {
  /// The method and the URL of the request, without secrets; `nil` if the response does not tell.
  public var request: String?
  /// The operation of the resource (`RequestOptions.operation`); `nil` if it has none.
  public var operation: String?
  /// The time since 1970 from which the resource is deprecated, which may lie ahead; `nil` if the server announces
  /// only the end, or says that the resource is deprecated but not since when.
  public var deprecated: Duration?
  /// The time since 1970 from which the resource is expected not to respond; `nil` if the server does not say.
  public var sunset: Duration?
  /// The absolute URL of a page about the change: the link with the relation `deprecation`, or else `sunset`; `nil` if
  /// there is none.
  public var information: String?
  /// The absolute URL of the resource to use in its place: the link with the relation `successor-version` (RFC 5829);
  /// `nil` if there is none.
  public var successor: String?

  /// Makes a notice, for tests.
  public init(
    request: String? = nil, operation: String? = nil, deprecated: Duration? = nil, sunset: Duration? = nil,
    information: String? = nil, successor: String? = nil
  ) {
    self.request = request
    self.operation = operation
    self.deprecated = deprecated
    self.sunset = sunset
    self.information = information
    self.successor = successor
  }

  /// Reads the fields of a response; returns `nil` if they announce nothing.
  ///
  /// Drafts of RFC 9745 had `true` or an HTTP date in place of the date of a structured field. Both are understood. A
  /// field that cannot be read announces nothing.
  public init?(_ response: ResourceResponse) {
    let fields = response.headers
    let deprecation = fields["Deprecation"]
    let (isDeprecated, since) = Self.deprecation(deprecation)
    let sunset = fields["Sunset"].flatMap { HTTPDate.seconds($0, now: HTTPDate.lastSecond) }
    guard isDeprecated || sunset != nil else { return nil }
    let target = { (relation: String) in
      PageLink.target(of: relation, in: response)
        .flatMap { PageLink.resolved($0, against: response.url)?.urlWithoutFragment }
    }
    self.init(
      request: response.ledger.request, deprecated: since.map { .seconds($0) }, sunset: sunset.map { .seconds($0) },
      information: target("deprecation") ?? target("sunset"), successor: target("successor-version"))
  }

  private static func deprecation(_ value: String?) -> (isDeprecated: Bool, since: Int64?) {
    guard let value else { return (false, nil) }
    switch StructuredReader.item(value.utf8)?.value {
    case .date(let seconds): return (true, seconds)
    case .boolean(true), .token("true"): return (true, nil)
    default:
      let date = HTTPDate.seconds(value, now: HTTPDate.lastSecond)
      return (date != nil, date)
    }
  }

  /// A line with the request, the times and the links.
  public var description: String {
    var line = operation ?? request ?? "the resource"
    line += deprecated.map { " is deprecated from \(Self.date($0))" } ?? (sunset == nil ? " is deprecated" : "")
    if let sunset { line += "\(deprecated == nil ? "" : " and") ends on \(Self.date(sunset))" }
    if let successor { line += "; its successor is \(successor)" }
    if let information { line += "; see \(information)" }
    return line
  }

  private static func date(_ time: Duration) -> String { HTTPDate.text(time.components.seconds) }
}
