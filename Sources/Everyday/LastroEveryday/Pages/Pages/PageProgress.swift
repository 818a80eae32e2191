// SPDX-License-Identifier: Apache-2.0

public import Lastro

/// The origin and the URL of a page's request.
struct PageAsked: Sendable {
  /// The origin of the resource's own request, whose credentials all pages carry; `nil` if it has none.
  var origin: Origin?
  /// The URL of the page; empty if there is none.
  var url = ""
}

/// The progress of a sequence of pages, with checks against faulty or malicious servers.
struct PageProgress: Sendable {
  enum Step: Sendable {
    case first
    case next(NextPage)
    /// The link after the last page, which this response contained, must not be followed.
    case refused(any Error, ResourceResponse)
    case end
  }

  var step = Step.first
  /// The number of pages before the next one.
  var index = 0
  /// The time at which the first page was requested.
  var start: Duration?
  /// The steps taken already: a repeated step means an endless loop.
  private var visited: Set<NextPage.Change> = []

  /// - Parameter start: the page to begin with; `nil` for the first one.
  init(_ start: NextPage?) {
    guard let start else { return }
    step = .next(start)
    index = start.index
    visited.insert(start.change)
  }

  /// Moves on after a page.
  ///
  /// - Parameters:
  ///   - next: the next page, as the server named it.
  ///   - asked: the origin and the URL of the page's request.
  ///   - answered: the URL that responded.
  mutating func pass(
    to next: NextPage?, _ asked: PageAsked, answered: String, _ origins: Set<Origin>
  ) throws(TransportError) {
    index += 1
    guard var change = next?.change else {
      step = .end
      return
    }
    if case .url(let reference) = change {
      guard let target = PageLink.resolved(reference, against: answered) else { throw Self.noPage }
      try Self.check(target.urlWithoutFragment, from: asked.origin, origins)
      change = .url(target.urlWithoutFragment)
    }
    visited.insert(.url(asked.url))
    guard visited.insert(change).inserted else {
      throw .refused(
        .paginationLoop, "page \(index) names a next page that was fetched already",
        hint: "report it to the server's owner")
    }
    step = .next(NextPage(change, index: index))
  }

  private static var noPage: TransportError {
    .refused(
      .invalidURL, "the link to the next page is not an http or https URL", hint: "report it to the server's owner")
  }

  /// Throws unless a page at the URL may be requested with the credentials of a request to the origin.
  static func check(_ url: String, from own: Origin?, _ origins: Set<Origin>) throws(TransportError) {
    guard let origin = try? Origin(url), let own else { throw noPage }
    guard own.scheme != "https" || origin.scheme == "https" else {
      throw .refused(
        .insecureRedirect, "the link to the next page leads from https to http",
        hint: "report it to the server's owner")
    }
    guard origin == own || origins.contains(origin) else {
      throw .refused(
        .foreignPage, "the link to the next page leads from \(own) to \(origin)",
        hint: "name that origin in the parameter origins if it may have the request's credentials")
    }
  }
}

extension FailureCode {
  /// A page names a next page that was fetched already.
  public static let paginationLoop = Self("pagination_loop")
  /// There are more pages than the limit.
  public static let tooManyPages = Self("too_many_pages")
  /// The link to the next page leads to another origin, which was not declared.
  public static let foreignPage = Self("foreign_page")
}
