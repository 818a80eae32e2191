// SPDX-License-Identifier: Apache-2.0

public import Lastro

/// What a page was asked with.
struct PageAsked: Sendable {
  /// That of the resource's own request, whose credentials all pages carry; `nil` where it has none.
  var origin: Origin?
  /// The page's URL; empty where there is none.
  var url = ""
}

/// How far a sequence of pages has come, and the guards against servers that lead astray.
struct PageProgress: Sendable {
  enum Step: Sendable {
    case first
    case next(NextPage)
    /// The last page, which this answer had, leads to what is not asked for.
    case refused(any Error, ResourceResponse)
    case end
  }

  var step = Step.first
  /// Number of pages before the next one.
  var index = 0
  /// When the first page was asked for.
  var start: Duration?
  /// What was asked for already: a step that comes again leads round for ever.
  private var visited: Set<NextPage> = []

  init(_ resumePoint: PageResumePoint?) {
    guard let resumePoint else { return }
    step = .next(resumePoint.next)
    index = resumePoint.index
    visited.insert(resumePoint.next)
  }

  /// Goes behind a page.
  ///
  /// - Parameters:
  ///   - next: what the server says comes behind it.
  ///   - asked: what the page was asked with.
  ///   - answered: the URL that answered it.
  mutating func pass(
    to next: NextPage?, _ asked: PageAsked, answered: String, _ origins: Set<Origin>
  ) throws(TransportError) {
    index += 1
    guard var next else {
      step = .end
      return
    }
    if case .url(let reference) = next {
      guard let target = PageLink.resolved(reference, against: answered) else { throw Self.noPage }
      try Self.check(target.urlWithoutFragment, from: asked.origin, origins)
      next = .url(target.urlWithoutFragment)
    }
    visited.insert(.url(asked.url))
    guard visited.insert(next).inserted else {
      throw .refused(
        .paginationLoop, "page \(index) names a next page that was fetched already",
        hint: "report it to the server's owner")
    }
    step = .next(next)
  }

  private static var noPage: TransportError {
    .refused(
      .invalidURL, "the link to the next page is not an http or https URL", hint: "report it to the server's owner")
  }

  /// Whether a page may be asked for with what was made for a request to an origin, credentials too.
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
        hint: "name that origin in PageOptions.origins if it may have the request's credentials")
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
