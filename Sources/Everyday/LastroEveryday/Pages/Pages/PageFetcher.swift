// SPDX-License-Identifier: Apache-2.0

internal import Lastro
internal import LastroSupport

/// Fetches one page after another, within the limits that the parameters of `pages` describe.
struct PageFetcher<Page: Sendable, APIError: Error>: Sendable {
  /// A page, and the progress after it.
  typealias Outcome = (page: FetchedPage<Page>, progress: PageProgress)

  let stack: any HTTPNetworkStack
  let first: HTTPResource<Page, APIError>
  let pagination: Pagination<Page>
  let maximumPages: Int
  let total: Duration?
  let origins: Set<Origin>
  let fetchesAhead: Bool
  /// The clock for ``total``.
  let timeSource: TimeSource

  /// Returns the next page; `nil` after the last.
  func page(_ progress: PageProgress) async -> Result<Outcome?, HTTPFetchError<APIError>> {
    await Result { () async throws(HTTPFetchError<APIError>) in try await next(progress) }
  }

  private func next(_ progress: PageProgress) async throws(HTTPFetchError<APIError>) -> Outcome? {
    switch progress.step {
    case .end: return nil
    case .refused(let error, let response): throw HTTPFetchError(.noRequest(error), response: response)
    case .first, .next: break
    }
    guard progress.index < maximumPages else {
      throw HTTPFetchError(
        .noRequest(
          TransportError.refused(
            .tooManyPages, "there are more pages than the limit of \(maximumPages) allows",
            hint: "raise maximumPages, or continue with FetchedPage.next of the last page")))
    }
    var progress = progress
    let asked = Lock<PageAsked?>(nil)
    let answer = try await stack.fetch(resource(of: progress, noting: asked), within: limit(&progress))
    do {
      let next = try pagination.next(answer.value, answer.response, progress.index)
      let asked = asked.withLock { $0 } ?? PageAsked()
      try progress.pass(to: next, asked, answered: answer.response.url, origins)
    } catch {
      // The page itself is valid and is returned; the error is thrown when the next page is requested.
      progress.step = .refused(error, answer.response)
    }
    let next: NextPage? = if case .next(let next) = progress.step { next } else { nil }
    return (FetchedPage(value: answer.value, response: answer.response, next: next), progress)
  }

  /// Returns the first resource with the changes for the page applied to its request.
  private func resource(
    of progress: PageProgress, noting asked: Lock<PageAsked?>
  ) -> HTTPResource<Page, APIError> {
    var resource = first
    let make = stack.based(first).baseRequestMaking.make
    let step: NextPage? = if case .next(let next) = progress.step { next } else { pagination.first }
    resource.baseRequestMaking = BaseRequestMaking { [origins] () async throws -> ResourceRequest in
      let base = try await make()
      let request = try step?.applied(to: base, origins) ?? base
      asked.withLock { $0 = PageAsked(origin: Origin(base.head), url: request.url) }
      return request
    }
    return resource
  }

  private func limit(_ progress: inout PageProgress) -> SharedLimit? {
    guard let total else { return nil }
    let start = progress.start ?? timeSource.now()
    progress.start = start
    return SharedLimit(
      of: total, since: start, timeSource, named: "the parameter total of pages",
      "while page \(progress.index + 1) was fetched")
  }
}
