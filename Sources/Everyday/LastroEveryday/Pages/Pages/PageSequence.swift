// SPDX-License-Identifier: Apache-2.0

public import Lastro
internal import LastroSupport

/// Pages of an API, each fetched when it is requested.
///
/// ```swift
/// for try await page in stack.pages(.repositories(of: "apple"), by: .link) {
///   print(page.value.count, page.response.attempts.count)
/// }
/// ```
///
/// Each page is a separate call, with its own retries, limits and ledger. A page that fails ends the sequence; the
/// ``FetchedPage/next`` of the previous page continues from there. A link that leads to another origin, from
/// `https` to `http`, or back to a fetched page is not followed: after the page that contains it, the sequence ends
/// with an error of stage `request`. Each iterator starts from the beginning.
public struct PageSequence<Page: Sendable, APIError: Error>: AsyncSequence, Sendable {
  /// A page with its response.
  public typealias Element = FetchedPage<Page>
  /// The error of a page that could not be fetched, or must not be requested.
  public typealias Failure = HTTPFetchError<APIError>

  let fetcher: PageFetcher<Page, APIError>
  /// The page to begin with; `nil` for the first one.
  let start: NextPage?

  /// An iterator that fetches pages, for one task at a time.
  public struct AsyncIterator: AsyncIteratorProtocol {
    let fetcher: PageFetcher<Page, APIError>
    /// The progress; `nil` after a failure.
    var progress: PageProgress?
    private var ahead: PageAhead<PageFetcher<Page, APIError>.Outcome?, Failure>?

    init(_ fetcher: PageFetcher<Page, APIError>, _ progress: PageProgress) {
      self.fetcher = fetcher
      self.progress = progress
    }

    /// Returns the next page; `nil` after the last, and after a failure.
    ///
    /// - Throws: `HTTPFetchError` of the page's call, also if the task is cancelled during it (a page that was fetched
    ///   ahead is returned nevertheless); stage `request` with code `pagination_loop`, `foreign_page`,
    ///   `insecure_redirect`, `invalid_url` or `too_many_pages`; stage `timeout` if the total time limit has passed.
    public mutating func next() async throws(Failure) -> Element? { try await next(isolation: #isolation) }

    /// Returns the next page, like ``next()``.
    ///
    /// - Throws: the same errors as ``next()``.
    public mutating func next(isolation actor: isolated (any Actor)?) async throws(Failure) -> Element? {
      guard let progress else { return nil }
      self.progress = nil
      let result = if let ahead { await ahead.value() } else { await fetcher.page(progress) }
      ahead = nil
      guard let (page, behind) = try result.get() else {
        self.progress = progress
        return nil
      }
      self.progress = behind
      if fetcher.fetchesAhead, page.next != nil {
        let fetcher = fetcher
        ahead = PageAhead { await fetcher.page(behind) }
      }
      return page
    }
  }

  /// Creates an iterator that begins with the start page, by default the first one.
  public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(fetcher, PageProgress(start)) }
}

/// A page that is fetched while the caller processes another one. Releasing it cancels the fetch.
private final class PageAhead<Value: Sendable, Failure: Error>: Sendable {
  private let task: Task<Result<Value, Failure>, Never>

  init(_ fetch: @escaping @Sendable () async -> Result<Value, Failure>) { task = Task { await fetch() } }

  deinit { task.cancel() }

  func value() async -> Result<Value, Failure> {
    await withTaskCancellationHandler {
      await task.value
    } onCancel: {
      task.cancel()
    }
  }
}

extension HTTPNetworkStack {
  /// Returns the pages of an API, starting with the first one.
  ///
  /// - Parameters:
  ///   - first: the resource of the first page. The requests for the other pages have the same method, fields and body.
  ///   - next: the way in which the API names the next page.
  ///   - start: the page to start from, as ``FetchedPage/next`` of another sequence names it. Default: `nil`, the first
  ///     page.
  ///   - maximumPages: the maximum number of pages. If there are more, the sequence fails with `too_many_pages` after
  ///     the last one allowed. Default 1000.
  ///   - total: the time limit of the whole sequence, from the first page on, by the stack's clock, in addition to the
  ///     timeouts of each page's call. Default `nil`: none.
  ///   - origins: origins besides that of the resource's own request to which links may lead. The requests carry the
  ///     same fields as the first one, including credentials. Links from an `https` resource never lead to `http`.
  ///     Default: none.
  ///   - fetchesAhead: whether the next page is fetched while the caller processes a page. Default false.
  public func pages<Page, APIError>(
    _ first: HTTPResource<Page, APIError>, by next: Pagination<Page>, from start: NextPage? = nil,
    maximumPages: Int = 1000, total: Duration? = nil, origins: Set<Origin> = [], fetchesAhead: Bool = false
  ) -> PageSequence<Page, APIError> {
    let fetcher = PageFetcher(
      stack: self, first: first, pagination: next, maximumPages: maximumPages, total: total, origins: origins,
      fetchesAhead: fetchesAhead, timeSource: ownConfiguration.timeSource)
    return PageSequence(fetcher: fetcher, start: start)
  }
}
