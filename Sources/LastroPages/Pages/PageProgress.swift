// SPDX-License-Identifier: Apache-2.0

internal import HTTPTypes
public import Lastro

/// How far a sequence of pages has come, and the guards against servers that lead astray.
struct PageProgress: Sendable {
  enum Step: Sendable {
    case first
    case next(NextPage)
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
  ///   - asked: the request that the page was asked with.
  ///   - answered: the URL that answered it.
  mutating func pass(
    to next: NextPage?, asked: HTTPRequest, answered: String, _ origins: Set<Origin>
  ) throws(TransportError) {
    index += 1
    guard var next else {
      step = .end
      return
    }
    if case .url(let reference) = next { next = .url(try Self.target(reference, asked, answered, origins)) }
    if let own = Self.url(of: asked) { visited.insert(.url(own)) }
    guard visited.insert(next).inserted else {
      throw .refused(
        .paginationLoop, "page \(index) names a next page that was fetched already",
        hint: "report it to the server's owner")
    }
    step = .next(next)
  }

  private static func url(of request: HTTPRequest) -> String? {
    guard let scheme = request.scheme, let authority = request.authority else { return nil }
    return "\(scheme)://\(authority)\(request.path ?? "/")"
  }

  private static func target(
    _ reference: String, _ asked: HTTPRequest, _ answered: String, _ origins: Set<Origin>
  ) throws(TransportError) -> String {
    guard let target = PageLink.resolved(reference, against: answered) else { throw noPage }
    try check(target.urlWithoutFragment, askedOf: asked, origins)
    return target.urlWithoutFragment
  }

  private static var noPage: TransportError {
    .refused(
      .invalidURL, "the link to the next page is not an http or https URL", hint: "report it to the server's owner")
  }

  /// Whether a page may be asked for with what was made for another request, credentials too.
  static func check(_ url: String, askedOf asked: HTTPRequest, _ origins: Set<Origin>) throws(TransportError) {
    guard let origin = try? Origin(url), let own = Origin(asked) else { throw noPage }
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
